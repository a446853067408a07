/*
 * One request over NSURLSession (src/watch/upload_session_darwin.m), with the model of Foundation
 * of the Mach-O host: what is asked of the session, and what becomes of each kind of answer.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "machhost/models/foundation.h"
#include "watch/upload_internal.h"

static struct model_exchange seen, answers; /* of the last request; what the next one gets */
static _Atomic int requests;

static void serve(struct model_exchange *exchange)
{
    seen = *exchange;
    exchange->status = answers.status;
    exchange->retry_after = answers.retry_after;
    exchange->answer = answers.answer;
    exchange->times = answers.times;
    exchange->error = answers.error;
    exchange->redirects = answers.redirects;
    exchange->stuck = answers.stuck;
    requests++;
}

static struct upload_client *open_client(unsigned allow)
{
    struct upload_settings settings = {.options.allow = (uint8_t)allow};
    struct fw_failure why;
    model_server = serve;
    requests = 0;
    struct upload_client *client = upload_client_open(&settings, &why);
    assert_non_null(client);
    return client;
}

static void send_one(struct upload_client *client, struct fw_upload_response *response)
{
    static const char *const headers[] = {"Content-Type: application/vnd.framewalk.reports",
                                          "Authorization: Bearer a: b", NULL};
    const struct fw_upload_request request = {"https://a.example/api/v1/reports", headers,
                                              "body\0x", 6};
    memset(response, 0, sizeof *response);
    upload_client_send(client, &request, response);
}

/* What a request becomes with these answers. */
static struct fw_upload_response answered(struct model_exchange with, unsigned allow)
{
    struct fw_upload_response response;
    answers = with;
    struct upload_client *client = open_client(allow);
    send_one(client, &response);
    upload_client_close(client);
    assert_int_equal(model_sessions, 0); /* the session is invalidated: it kept its delegate */
    return response;
}

static void what_is_asked(void **state)
{
    (void)state;
    const struct model_exchange good = {.status = 200, .answer = "line\n", .times = 3};
    struct fw_upload_response response = answered(good, 0);
    assert_int_equal(response.status, 200);
    assert_int_equal(response.body_size, 15);
    assert_memory_equal(response.body, "line\nline\nline\n", 15);
    assert_int_equal(response.retry_after, 0);
    free(response.body);
    assert_string_equal(seen.url, "https://a.example/api/v1/reports");
    assert_string_equal(seen.method, "POST");
    assert_int_equal(seen.body_size, 6);
    assert_memory_equal(seen.body, "body\0x", 6);
    assert_string_equal(seen.names[0], "Content-Type");
    assert_string_equal(seen.values[0], "application/vnd.framewalk.reports");
    assert_string_equal(seen.names[1], "Authorization");
    assert_string_equal(seen.values[1], "Bearer a: b");
    assert_null(seen.names[2]);
    assert_false(seen.cookies);
    assert_int_equal(seen.tls, 0x0303);
    assert_true(seen.silent_seconds == 60 && seen.most_seconds == 300);
}

static void which_networks(void **state)
{
    (void)state;
    const struct model_exchange good = {.status = 200};
    for (unsigned allow = 0; allow <= FW_UPLOAD_ON_ALL; allow++) {
        free(answered(good, allow).body);
        assert_int_equal(requests, 1);
        assert_int_equal(seen.cellular, (allow & FW_UPLOAD_ON_CELLULAR) != 0);
        assert_int_equal(seen.expensive, (allow & FW_UPLOAD_ON_EXPENSIVE) != 0);
        assert_int_equal(seen.constrained, (allow & FW_UPLOAD_ON_CONSTRAINED) != 0);
    }
}

static void low_power(void **state)
{
    (void)state;
    const struct model_exchange good = {.status = 200};
    model_low_power = true;
    struct fw_upload_response response = answered(good, 0);
    assert_int_equal(response.status, 0);
    assert_true(response.later);
    assert_int_equal(requests, 0);
    response = answered(good, FW_UPLOAD_ON_LOW_POWER);
    assert_int_equal(response.status, 200);
    free(response.body);
    model_low_power = false;
}

static void errors(void **state)
{
    (void)state;
    static const struct {
        long code;
        bool later;
    } cases[] = {{-1009, true}, {-1018, true}, {-1020, true}, {-1001, false}, {-1202, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct model_exchange bad = {.error = cases[i].code};
        const struct fw_upload_response response = answered(bad, 0);
        assert_int_equal(response.status, 0);
        assert_int_equal(response.later, cases[i].later);
        assert_string_equal(response.message, "the model's error");
        assert_null(response.body);
    }
}

static void redirects_are_not_followed(void **state)
{
    (void)state;
    const struct model_exchange elsewhere = {.status = 302, .redirects = true};
    const struct fw_upload_response response = answered(elsewhere, 0);
    assert_int_equal(response.status, 302);
    free(response.body);
}

static void retry_after(void **state)
{
    (void)state;
    const struct model_exchange busy = {.status = 503, .retry_after = "17"};
    const struct fw_upload_response response = answered(busy, 0);
    assert_int_equal(response.status, 503);
    assert_int_equal(response.retry_after, 17);
    free(response.body);
}

static void too_long_an_answer(void **state)
{
    (void)state;
    static char much[1024 + 1];
    memset(much, 'm', 1024);
    const struct model_exchange most = {.status = 200, .answer = much, .times = 256};
    const struct model_exchange more = {.status = 200, .answer = much, .times = 257};
    struct fw_upload_response response = answered(most, 0);
    assert_int_equal(response.body_size, UPLOAD_ANSWER_MAX);
    free(response.body);
    response = answered(more, 0);
    assert_int_equal(response.status, 0);
    assert_false(response.later);
    assert_string_equal(response.message, "the answer is longer than any collector's");
}

static void *abort_when_stuck(void *client)
{
    while (!model_is_stuck)
        usleep(1000);
    upload_client_abort(client);
    return NULL;
}

static void given_up(void **state)
{
    (void)state;
    struct fw_upload_response response;
    pthread_t thread;
    model_low_power = false; /* whatever failed before */
    answers = (struct model_exchange){.status = 200, .stuck = true};
    struct upload_client *client = open_client(0);
    assert_int_equal(pthread_create(&thread, NULL, abort_when_stuck, client), 0);
    send_one(client, &response);
    pthread_join(thread, NULL);
    assert_int_equal(response.status, 0);
    assert_string_equal(response.message, "given up");
    send_one(client, &response); /* and for good */
    assert_string_equal(response.message, "given up");
    assert_int_equal(requests, 1);
    upload_client_close(client);
}

static void certificates_of_a_file(void **state)
{
    (void)state;
    struct upload_settings settings = {.options.ca_file = "/etc/ca.pem"};
    struct fw_failure why;
    assert_null(upload_client_open(&settings, &why));
    assert_int_equal(why.code, FW_ERR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked),
        cmocka_unit_test(which_networks),
        cmocka_unit_test(low_power),
        cmocka_unit_test(errors),
        cmocka_unit_test(retry_after),
        cmocka_unit_test(redirects_are_not_followed),
        cmocka_unit_test(too_long_an_answer),
        cmocka_unit_test(given_up),
        cmocka_unit_test(certificates_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
