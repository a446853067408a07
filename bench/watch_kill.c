/*
 * kill -9 at random moments while reports are written. Two writers share a folder; each round
 * starts them, lets them write for a random while, kills them, and looks at what they left, as the
 * next start and an uploader would.
 *
 *     watch_kill FOLDER ROUNDS [SEED]
 *
 * prints how many reports were lost, unreadable or duplicate, together (to be 0; it ends with 1
 * when it is not), and on the standard error what was counted. A writer acknowledges to a pipe what
 * spool_finish acknowledged to it. After each round every report is "uploaded": its file is
 * removed, its id remembered; an id that comes again is a duplicate.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "watch/spool_support.h"

enum { WRITERS = 2, IDS = 1 << 20, LIFE_US = 30000, MANY = 1000000 };

struct ids { /* of reports, in no order */
    char (*id)[SPOOL_ID_SIZE];
    size_t count;
};

static struct ids acknowledged, uploaded;
static unsigned long lost, unreadable, duplicate, recovered, left_parts;
static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

static void add(struct ids *ids, const char *id)
{
    if (ids->count == IDS) {
        fprintf(stderr, "more than %d reports\n", IDS);
        exit(2);
    }
    memcpy(ids->id[ids->count++], id, SPOOL_ID_SIZE);
}

/* Writes reports until it is killed: of each kind, some flushed on the way, some discarded. */
static void write_for_ever(const char *folder, int told)
{
    struct fw_reports *reports = spool_open(folder, MANY);
    for (uint64_t n = 1;; n++) {
        char id[SPOOL_ID_SIZE];
        bool safe;
        if (random_below(4) == 0) {
            safe = spool_write_calls(reports, n, id);
        } else {
            struct spool_report *report = spool_begin(reports, FWR_KIND_HANG, n);
            if (!report)
                exit(3);
            strcpy(id, spool_id(report));
            spool_say_hang(report, 300000000);
            spool_flush(report, random_below(2));
            for (uint32_t i = random_below(4); i; i--) {
                spool_say_hang(report, 400000000);
                spool_flush(report, false);
            }
            if (random_below(8) == 0) {
                spool_discard(report);
                continue;
            }
            spool_say_end(report, FWR_RECOVERED, 500000000);
            safe = spool_finish(report);
        }
        if (!safe || write(told, id, sizeof id) != sizeof id)
            exit(3);
    }
}

static pid_t start(const char *folder, int told)
{
    random_state += 0x9e3779b97f4a7c15;
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    if (child == 0)
        write_for_ever(folder, told);
    return child;
}

static void round_of_writing(const char *folder)
{
    int told[2];
    pid_t writer[WRITERS];
    char id[SPOOL_ID_SIZE];
    if (pipe(told) != 0 || fcntl(told[1], F_SETPIPE_SZ, 1 << 20) < 0) {
        perror("pipe");
        exit(2);
    }
    for (int i = 0; i < WRITERS; i++)
        writer[i] = start(folder, told[1]);
    close(told[1]);
    for (int i = 0; i < WRITERS; i++) {
        struct timespec life = {0, 1000 * (long)random_below(LIFE_US)};
        int status;
        nanosleep(&life, NULL);
        kill(writer[i], SIGKILL);
        waitpid(writer[i], &status, 0);
        if (!WIFSIGNALED(status)) {
            fprintf(stderr, "a writer gave up\n");
            exit(2);
        }
    }
    while (read(told[0], id, sizeof id) == sizeof id)
        add(&acknowledged, id);
    close(told[0]);
}

/* One finished report: readable to its end, and called as it says itself. */
static void upload(const char *path, const char *id)
{
    struct fwr_state state = {0};
    struct stat stat = {0};
    char own[SPOOL_ID_SIZE];
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &stat) != 0 || !spool_survey(file, UINT64_MAX, &state) ||
        !state.is_report || state.whole != (uint64_t)stat.st_size || !state.ended)
        unreadable++;
    close(file);
    spool_id_text(state.id, own);
    duplicate += strcmp(own, id) != 0;
    add(&uploaded, id);
    unlink(path);
}

static void look(const char *folder, bool at_rest)
{
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        char id[SPOOL_ID_SIZE] = "";
        const size_t length = strlen(entry->d_name);
        if (length < SPOOL_DIGITS)
            continue;
        memcpy(id, entry->d_name, SPOOL_DIGITS);
        const char *suffix = entry->d_name + SPOOL_DIGITS;
        if (!strcmp(suffix, ".fwr"))
            upload(spool_path(folder, id, ".fwr"), id);
        else if (at_rest)
            unreadable++;
        else
            left_parts++;
    }
    if (list)
        closedir(list);
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Each acknowledged report was found, and none twice. */
static void settle(void)
{
    qsort(uploaded.id, uploaded.count, SPOOL_ID_SIZE, compare);
    for (size_t i = 1; i < uploaded.count; i++)
        duplicate += !strcmp(uploaded.id[i - 1], uploaded.id[i]);
    for (size_t i = 0; i < acknowledged.count; i++)
        lost += bsearch(acknowledged.id[i], uploaded.id, uploaded.count, SPOOL_ID_SIZE, compare) ==
                NULL;
}

int main(int count, char **words)
{
    if (count < 3) {
        fprintf(stderr, "usage: watch_kill FOLDER ROUNDS [SEED]\n");
        return 2;
    }
    const char *folder = words[1];
    const long rounds = atol(words[2]);
    random_state = count > 3 ? strtoull(words[3], NULL, 0) : (uint64_t)time(NULL);
    fprintf(stderr, "seed %llu\n", (unsigned long long)random_state);
    acknowledged.id = calloc(IDS, SPOOL_ID_SIZE);
    uploaded.id = calloc(IDS, SPOOL_ID_SIZE);
    spool_remove_folder(folder);
    for (long i = 0; i < rounds; i++) {
        round_of_writing(folder);
        look(folder, false);
        if (random_below(2))
            continue; /* the next writers recover what these left */
        struct fw_reports *reports = spool_open(folder, MANY);
        struct fw_reports_totals totals = {.size = sizeof totals};
        fw_reports_totals(reports, &totals);
        recovered += (unsigned long)totals.recovered;
        fw_reports_close(reports);
        look(folder, true);
    }
    fw_reports_close(spool_open(folder, MANY));
    look(folder, true);
    settle();
    fprintf(stderr,
            "%ld rounds, %zu acknowledged, %zu whole, %lu left unfinished, %lu recovered between "
            "rounds, %lu lost, %lu unreadable, %lu duplicate\n",
            rounds, acknowledged.count, uploaded.count, left_parts, recovered, lost, unreadable,
            duplicate);
    printf("%lu\n", lost + unreadable + duplicate);
    spool_remove_folder(folder);
    return lost || unreadable || duplicate;
}
