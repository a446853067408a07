/* libunwind, through its ptrace accessors: unw_init_remote, unw_step. */
#include "oracle/peer.h"

#include <stdlib.h>

#include <libunwind-ptrace.h>

const char *const peer_name = "libunwind";

struct peer {
    pid_t pid;
    unw_addr_space_t space;
    void *upt;
};

void *peer_start(pid_t pid)
{
    struct peer *peer = calloc(1, sizeof *peer);
    if (!peer)
        abort();
    peer->pid = pid;
    peer->space = unw_create_addr_space(&_UPT_accessors, 0);
    peer->upt = _UPT_create(pid);
    if (!peer->space || !peer->upt)
        abort();
    unw_set_caching_policy(peer->space, UNW_CACHE_GLOBAL);
    return peer;
}

void peer_end(void *context)
{
    struct peer *peer = context;
    _UPT_destroy(peer->upt);
    unw_destroy_addr_space(peer->space);
    free(peer);
}

void peer_flush(void *context)
{
    struct peer *peer = context;
    unw_flush_cache(peer->space, 0, 0);
    _UPT_destroy(peer->upt);
    peer->upt = _UPT_create(peer->pid);
    if (!peer->upt)
        abort();
}

size_t peer_walk(void *context, uint64_t *address, size_t room, int *whole)
{
    struct peer *peer = context;
    unw_cursor_t cursor;
    size_t n = 0;
    *whole = 0;
    if (unw_init_remote(&cursor, peer->space, peer->upt) < 0)
        return 0;
    int step = 1;
    while (n < room) {
        unw_word_t ip;
        if (unw_get_reg(&cursor, UNW_REG_IP, &ip) < 0)
            break;
        if (n && ip == 0) {
            *whole = 1;
            break;
        }
        address[n++] = ip;
        step = unw_step(&cursor);
        if (step <= 0)
            break;
    }
    *whole |= step == 0;
    return n;
}
