/*
 * Reports of other tools: POST /api/v1/projects/{P}/import (docs/openapi.yaml), each with its
 * whole text, which the collector scrubs before it keeps anything.
 *
 * What is a report is found out here as well, from its contents, so that a file named by mistake
 * does not leave the machine. Loose lists of addresses, which nearly any log is, are none.
 */
#include "cli/push_import.h"

#include "base/array.h"
#include "cli/push_http.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REPORT_BYTES = 20 << 20 }; /* what the collector takes */

/* The whole file; NULL when it is no regular one of a report's size, or cannot be read. */
static uint8_t *read_whole(const char *path, size_t *size)
{
    struct stat about;
    uint8_t *bytes = NULL;
    size_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 &&
        about.st_size <= REPORT_BYTES)
        bytes = malloc((size_t)about.st_size);
    while (bytes && got < (size_t)about.st_size) {
        ssize_t more = read(fd, bytes + got, (size_t)about.st_size - got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            break;
        got += (size_t)more;
    }
    close(fd);
    *size = got;
    return bytes;
}

bool push_import_take(struct push_import *import, const char *path)
{
    struct report *report = NULL;
    size_t size;
    uint8_t *bytes = read_whole(path, &size);
    bool foreign = false;
    if (bytes && report_read((struct span){bytes, size}, &report, NULL) == FW_OK) {
        foreign = report->kind != REPORT_OTHER && report->kind != REPORT_FRAMEWALK &&
                  report->kind != REPORT_LIST && report->kind != REPORT_V5 &&
                  report->frame_count > 0;
        report_free(report);
    }
    free(bytes);
    if (!foreign ||
        !array_room(&import->paths, &import->capacity, import->count, sizeof *import->paths))
        return false;
    char *copy = strdup(path);
    if (copy)
        import->paths[import->count++] = copy;
    return copy != NULL;
}

void push_import_free(struct push_import *import)
{
    for (size_t i = 0; i < import->count; i++)
        free(import->paths[i]);
    free(import->paths);
    import->paths = NULL;
    import->count = 0;
}

/* What the collector said of one; CLI_OK as long as the next may be tried. */
static enum cli_exit judge(struct push_import *i, const char *path,
                           const struct push_answer *answer)
{
    bool verbose = i->command->verbose;
    if (answer->status == 201 || answer->status == 200) {
        bool known = json_is_true(json_object_get(answer->json, "duplicate"));
        const char *kind = json_string_value(json_object_get(answer->json, "kind"));
        *(known ? &i->duplicates : &i->sent) += 1;
        progress_end(i->progress);
        if (verbose)
            printf("%s  %s (%s)\n", path, known ? "known already" : "sent", kind ? kind : "?");
        return CLI_OK;
    }
    progress_end(i->progress);
    if (answer->status == 413 || answer->status == 422) {
        i->refused++;
        cli_error("%s: refused by the collector: %s", path, answer->message);
        return CLI_OK;
    }
    i->left++;
    cli_error("%s: %s", path, answer->message);
    if (answer->retry_after)
        cli_error("the collector asks to wait %" PRIu32 " seconds", answer->retry_after);
    return answer->status == 401 || answer->status == 403 ? CLI_PERMISSION : CLI_FAILED;
}

static enum cli_exit send_one(struct push_import *i, struct push_http *http, const char *target,
                              const char *path)
{
    static const char *const headers[] = {"Content-Type: application/octet-stream", NULL};
    struct push_answer answer = {.status = 0};
    size_t size;
    uint8_t *bytes = read_whole(path, &size);
    if (!bytes) {
        cli_error("%s: %s", path, strerror(errno));
        i->left++;
        return CLI_OK;
    }
    const struct push_request request = {
        .method = "POST", .path = target, .headers = headers, .body = {bytes, size}};
    push_http_send(http, &request, &answer);
    enum cli_exit code = judge(i, path, &answer);
    json_decref(answer.json);
    free(bytes);
    return code;
}

enum cli_exit push_import_send(struct push_import *i)
{
    struct fw_failure why = {0};
    struct report_bytes target = {0};
    enum cli_exit code = CLI_OK;
    if (i->command->dry_run) {
        for (; i->listed < i->count; i->listed++)
            printf("%s\n", i->paths[i->listed]);
        return code;
    }
    struct push_http *http = i->count ? push_http_open(i->settings, &why) : NULL;
    push_http_project(&target, i->command->project);
    out_text(&target, "/import");
    if (i->count && (!http || target.failed)) {
        cli_error("%s", http ? "out of memory" : why.message);
        code = CLI_FAILED;
    }
    for (size_t n = 0; n < i->count && code == CLI_OK; n++) {
        progress_show(i->progress, "Sending: report %zu of %zu", n + 1, i->count);
        code = send_one(i, http, target.data, i->paths[n]);
    }
    progress_end(i->progress);
    report_bytes_free(&target);
    push_http_close(http);
    return code;
}
