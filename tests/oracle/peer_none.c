/* The oracle without a peer. */
#include "oracle/peer.h"

const char *const peer_name = NULL;

void *peer_start(pid_t pid)
{
    (void)pid;
    return NULL;
}

void peer_end(void *peer)
{
    (void)peer;
}

void peer_flush(void *peer)
{
    (void)peer;
}

size_t peer_walk(void *peer, uint64_t *address, size_t room, int *whole)
{
    (void)peer, (void)address, (void)room;
    *whole = 0;
    return 0;
}
