/*
 * What the parts of the spool share: session.c (opening, keys, totals), spool.c (writing),
 * spool_recover.c (what dead processes left), spool_room.c (limits), spool_state.c (the counter
 * that the folder keeps), session_about.c (who this process is).
 *
 * All of it lies in one mapping made by fw_reports_open. Two locks, never held together: `lock` for
 * keys and slots, for a moment; `listing` for whoever goes through the folder. No function takes
 * either in a child of fork().
 */
#ifndef WATCH_SPOOL_INTERNAL_H
#define WATCH_SPOOL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "watch/own_names.h"
#include "watch/session.h"
#include "watch/spool_folder.h"

/* How much a report is worth: the least goes first, the oldest among equals. */
enum spool_value {
    SPOOL_DAMAGED, /* no whole record in it */
    SPOOL_SNAPSHOT,
    SPOOL_CALLS,
    SPOOL_HANG,
    SPOOL_SEVERE, /* a hang over its severe threshold */
    SPOOL_FATAL   /* a hang that the process did not survive */
};

enum {
    SPOOL_BATCH = 512, /* reports recovered or removed between two listings of the folder */
    SPOOL_KNOWN = 1024 /* reports whose worth is remembered */
};

struct spool_worth { /* of a whole report */
    uint8_t id[FWR_ID_BYTES];
    uint64_t started_ms;
    uint64_t bytes;
    uint8_t value; /* enum spool_value */
    bool known;    /* in the table of known ones: the slot is used */
};

struct spool_about { /* of this process; "" = not known */
    char app[128], version[128], build[128], device_class[128];
    char os[64], os_version[64], os_build[128];
    char program[512];
    uint64_t age_ms;    /* of the process when the session was opened */
    uint64_t opened_ms; /* then, on the clock of spool_clock_ms */
};

struct spool_key {
    char key[FW_REPORT_KEY_SIZE], value[FW_REPORT_VALUE_SIZE];
};

struct spool_report {
    struct fw_reports *reports;
    struct fwr_writer *writer;
    void *memory; /* of the writer */
    struct locate locate;
    char id[SPOOL_ID_SIZE];
    bool used;              /* the slot is taken; under `lock` */
    bool named;             /* its name is durable */
    bool failed;            /* a write failed: counted, and nothing is written any more */
    struct spool_file file; /* ID.part, open and locked; none in a child of fork() */
    uint64_t end;           /* bytes in it, all of whole records */
};

struct fw_reports {
    pid_t pid;      /* that opened it: the one process that may write */
    size_t mapping; /* bytes of all this */
    pthread_mutex_t lock /* of keys, and of who has which slot */, listing;
    struct spool_folder folder; /* its list: under `listing` */
    uint32_t max_files;
    uint64_t max_bytes;
    uint8_t session[FWR_ID_BYTES];
    struct spool_about about;
    struct spool_key key[FW_REPORT_KEYS];
    size_t keys;
    struct spool_report report[SPOOL_OPEN_MAX];
    _Atomic uint64_t recovered, damaged, evicted, refused;
    const struct own_names *names; /* of the app's functions; NULL: reports go without */
    spool_ended *left_by;          /* who knows how the others ended, or NULL */
    void *left_by_context;
    struct spool_worth batch[SPOOL_BATCH]; /* under `listing`, as are the next two */
    size_t batched;
    struct spool_worth known[SPOOL_KNOWN]; /* by the first bytes of the id */
};

/* session_about.c */
void spool_about_find(struct spool_about *about);
uint64_t spool_clock_ms(void); /* goes on while the machine sleeps */
/* Copies at most `size` - 1 bytes, cut at a character of UTF-8. */
void spool_text_copy(char *to, size_t size, const char *from);

/* spool_recover.c: completes what dead processes left. Takes `listing`. */
void spool_recover(struct fw_reports *reports);
/* Looks a report's file over, at most its first `limit` bytes; false when it cannot be read. */
bool spool_survey(int file, uint64_t limit, struct fwr_state *state);

/* spool_room.c: removes what is over the limits. Takes `listing`. */
void spool_make_room(struct fw_reports *reports);
/* Whole reports in the folder. Takes `listing`. */
void spool_count(struct fw_reports *reports, uint64_t *files, uint64_t *bytes);
/* Removes finished files in which there is no report. Takes `listing`. */
void spool_weed(struct fw_reports *reports);

/* spool_state.c */
struct spool_state {
    int file; /* open and locked; -1: not to be had */
    uint64_t sequence, evicted;
    uint8_t pending[FWR_ID_BYTES]; /* a report that is just being removed; zero: none */
};
/* 0, or errno: the folder cannot be written. */
int spool_state_make(const struct spool_folder *folder);
/* Takes the folder's lock, waiting for a moment; false when somebody keeps it. */
bool spool_state_take(const struct spool_folder *folder, struct spool_state *state);
void spool_state_save(struct spool_state *state);
void spool_state_release(struct spool_state *state);
/* Reports removed for room in this folder by all processes so far; without the lock. */
uint64_t spool_state_evicted(const struct spool_folder *folder);

#endif
