/*
 * What servers that were killed leave of uploads in several parts: the old ones are aborted, those
 * of others never. Runs where s3.py says (FW_S3_URL); without a server there is nothing to test.
 */
#include "collector/collector.h"
#include "collector/s3_tidy.h"
#include "collector/s3_xml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { OURS = 20, HOUR_MS = 3600000 };

static struct s3 *s3;

static fw_error ask(const char *method, const char *key, const char *query, const char *body,
                    struct s3_answer *answer)
{
    const struct s3_request request = {.method = method,
                                       .key = key,
                                       .query = query,
                                       .body = {(const uint8_t *)body, strlen(body)},
                                       .body_fd = -1,
                                       .to_fd = -1,
                                       .answer_most = 1 << 20};
    return s3_send(s3, &request, answer, NULL);
}

static void begin(const char *key, char id[1100])
{
    struct s3_answer answer;
    assert_int_equal(ask("POST", key, "uploads=", "", &answer), FW_OK);
    assert_true(s3_xml_find((struct span){answer.data, answer.size}, "UploadId", id, 1100));
    s3_answer_free(&answer);
}

static bool lives(const char *key, const char *id)
{
    char query[4096] = "";
    struct s3_answer answer;
    s3_query_add(query, sizeof query, "partNumber", "1");
    s3_query_add(query, sizeof query, "uploadId", id);
    fw_error error = ask("PUT", key, query, "a part", &answer);
    s3_answer_free(&answer);
    assert_true(error == FW_OK || error == FW_ERR_NOT_FOUND);
    return error == FW_OK;
}

static void old_ones_of_ours_go(void **state)
{
    (void)state;
    static char ids[OURS][1100], other[1100];
    char key[64];
    for (int i = 0; i < OURS; i++) { /* more than a page */
        snprintf(key, sizeof key, "%s/%02d/a", i % 2 ? "symbols" : "uploads", i);
        begin(key, ids[i]);
    }
    begin("backups/of-somebody", other);
    uint64_t now = collector_now_ms();
    assert_int_equal(s3_tidy(s3, now - HOUR_MS), 0); /* all are younger */
    assert_true(lives("uploads/00/a", ids[0]));
    assert_int_equal(s3_tidy(s3, now + HOUR_MS), OURS);
    for (int i = 0; i < OURS; i++) {
        snprintf(key, sizeof key, "%s/%02d/a", i % 2 ? "symbols" : "uploads", i);
        assert_false(lives(key, ids[i]));
    }
    assert_true(lives("backups/of-somebody", other));
    assert_int_equal(s3_tidy(s3, now + HOUR_MS), 0);
}

/* Whoever answers with anything else is no reason to remove anything, or to go on for ever. */
static void no_list_is_no_harm(void **state)
{
    (void)state;
    const char *control = getenv("FW_S3_CONTROL");
    char command[256];
    if (!control)
        skip();
    for (const char *const *kind = (const char *const[]){"html", "403", NULL}; *kind; kind++) {
        snprintf(command, sizeof command, "curl -s --noproxy '*' '%s?kind=%s&count=1'", control,
                 *kind);
        if (system(command) != 0)
            skip();
        assert_int_equal(s3_tidy(s3, collector_now_ms() + HOUR_MS), 0);
    }
}

int main(void)
{
    const char *url = getenv("FW_S3_URL");
    struct fw_failure why = {0};
    if (!url)
        return 77;
    if (s3_open(url, &s3, &why) != FW_OK) {
        fprintf(stderr, "%s\n", why.message);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_ones_of_ours_go),
        cmocka_unit_test(no_list_is_no_harm),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    s3_close(s3);
    return failed;
}
