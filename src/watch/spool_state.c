/*
 * spool.state: the folder's lock, held while somebody makes room, and the count of the reports that
 * were removed for it, of all processes.
 *
 * Two slots are written in turn, each with a sequence number and a checksum: whoever dies while it
 * writes leaves the other one. A removal is announced in the count's slot before it is done, so
 * that the next process knows whether it was: each is counted once, wherever the process dies.
 *
 *   slot (64 bytes, little-endian): "FWSPOOL\n" | u64 sequence | u64 evicted | 16 bytes id being
 *   removed, or zeros | u32 CRC-32C of what is before it | zeros
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "watch/spool_internal.h"

static const char state_name[] = "spool.state";
static const char magic[8] = {'F', 'W', 'S', 'P', 'O', 'O', 'L', '\n'};

enum { SLOTS = 2, SLOT_SIZE = 64, SUMMED = 40 };

static void put(uint8_t *to, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *from, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static void read_slots(struct spool_state *state)
{
    uint8_t slot[SLOT_SIZE];
    for (int i = 0; i < SLOTS; i++) {
        if (pread(state->file, slot, sizeof slot, i * SLOT_SIZE) != SLOT_SIZE ||
            memcmp(slot, magic, sizeof magic) != 0 ||
            get(slot + SUMMED, 4) != fwr_crc(0, slot, SUMMED) ||
            get(slot + 8, 8) <= state->sequence)
            continue;
        state->sequence = get(slot + 8, 8);
        state->evicted = get(slot + 16, 8);
        memcpy(state->pending, slot + 24, sizeof state->pending);
    }
}

void spool_state_save(struct spool_state *state)
{
    uint8_t slot[SLOT_SIZE] = {0};
    state->sequence++;
    memcpy(slot, magic, sizeof magic);
    put(slot + 8, state->sequence, 8);
    put(slot + 16, state->evicted, 8);
    memcpy(slot + 24, state->pending, sizeof state->pending);
    put(slot + SUMMED, fwr_crc(0, slot, SUMMED), 4);
    spool_file_write(state->file, slot, sizeof slot, state->sequence % SLOTS * SLOT_SIZE);
}

static int open_state(const struct spool_folder *folder, int flags)
{
    return openat(folder->file.fd, state_name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

/* Both slots are written when the file is new, so that later there is room on a full disk. */
int spool_state_make(const struct spool_folder *folder)
{
    struct stat stat;
    struct spool_state state = {.file = open_state(folder, O_RDWR | O_CREAT)};
    if (state.file < 0)
        return errno;
    int why = fstat(state.file, &stat) != 0 ? errno : 0;
    if (!why && !S_ISREG(stat.st_mode))
        why = EINVAL;
    if (!why && flock(state.file, LOCK_SH | LOCK_NB) != 0 && errno != EWOULDBLOCK)
        why = errno; /* a file system without locks */
    close(state.file);
    if (!why && stat.st_size < SLOTS * SLOT_SIZE && spool_state_take(folder, &state)) {
        read_slots(&state);
        spool_state_save(&state);
        spool_state_save(&state);
        spool_state_release(&state);
    }
    return why;
}

static bool removed_meanwhile(const struct spool_folder *folder, const uint8_t *pending)
{
    char id[SPOOL_ID_SIZE];
    spool_id_text(pending, id);
    int file = spool_file_read(folder, id, SPOOL_WHOLE);
    if (file >= 0)
        close(file);
    return file < 0 && errno == ENOENT;
}

bool spool_state_take(const struct spool_folder *folder, struct spool_state *state)
{
    enum { TRIES = 50 };
    static const uint8_t none[FWR_ID_BYTES];
    const struct timespec nap = {0, 2 * 1000 * 1000};
    *state = (struct spool_state){.file = open_state(folder, O_RDWR | O_CREAT)};
    if (state->file < 0)
        return false;
    for (int i = 0; flock(state->file, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK || i == TRIES) {
            close(state->file);
            return false;
        }
        nanosleep(&nap, NULL);
    }
    read_slots(state);
    if (memcmp(state->pending, none, sizeof none) != 0) {
        state->evicted += removed_meanwhile(folder, state->pending);
        memset(state->pending, 0, sizeof state->pending);
        spool_state_save(state);
    }
    return true;
}

/* Unlocked by name, as a child of fork() may have a copy of the descriptor. */
void spool_state_release(struct spool_state *state)
{
    flock(state->file, LOCK_UN);
    close(state->file);
}

uint64_t spool_state_evicted(const struct spool_folder *folder)
{
    struct spool_state state = {.file = open_state(folder, O_RDONLY)};
    if (state.file < 0)
        return 0;
    read_slots(&state);
    close(state.file);
    return state.evicted;
}
