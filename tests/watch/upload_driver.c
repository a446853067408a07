/*
 * A program that uploads, for upload_test.py; linked with libframewalk-upload.
 *
 *     upload_driver make FOLDER COUNT BYTES        writes reports, prints their ids
 *     upload_driver now FOLDER URL [NAME=VALUE...]  fw_upload_now, prints the totals
 *     upload_driver run FOLDER URL [NAME=VALUE...]  fw_upload_start, until standard input ends
 */
#include "framewalk/upload.h"
#include "watch/upload_reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make(const char *folder, int count, size_t bytes)
{
    for (int i = 0; i < count; i++) {
        char id[33];
        if (!upload_make_report(folder, bytes, NULL, id))
            return 1;
        puts(id);
    }
    return 0;
}

static uint32_t stop_ms = 5000;

static void option(struct fw_upload_options *o, char *word)
{
    char *value = strchr(word, '=');
    if (!value)
        exit(2);
    *value++ = '\0';
    uint32_t number = (uint32_t)strtoul(value, NULL, 10);
    if (!strcmp(word, "key"))
        o->key = value;
    else if (!strcmp(word, "key_file"))
        o->key_file = value;
    else if (!strcmp(word, "ca_file"))
        o->ca_file = value;
    else if (!strcmp(word, "batch"))
        o->batch = number;
    else if (!strcmp(word, "batch_bytes"))
        o->batch_bytes = number;
    else if (!strcmp(word, "first_wait"))
        o->first_wait_s = number;
    else if (!strcmp(word, "longest_wait"))
        o->longest_wait_s = number;
    else if (!strcmp(word, "poll"))
        o->poll_seconds = number;
    else if (!strcmp(word, "plain_http"))
        o->plain_http = number != 0;
    else if (!strcmp(word, "uncompressed"))
        o->uncompressed = number != 0;
    else if (!strcmp(word, "stop_ms"))
        stop_ms = number;
    else
        exit(2);
}

static void print(fw_error error, const struct fw_upload_totals *t, const char *message)
{
    printf("{\"error\": %d, \"sent\": %llu, \"duplicates\": %llu, \"refused\": %llu, "
           "\"requests\": %llu, \"failures\": %llu, \"waiting\": %llu}\n%s\n%s\n",
           (int)error, (unsigned long long)t->sent, (unsigned long long)t->duplicates,
           (unsigned long long)t->refused, (unsigned long long)t->requests,
           (unsigned long long)t->failures, (unsigned long long)t->waiting, t->message, message);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "make"))
        return make(argv[2], atoi(argv[3]), (size_t)atol(argv[4]));
    if (argc < 4)
        return 2;
    struct fw_upload_options o = {.size = sizeof o, .folder = argv[2], .url = argv[3]};
    struct fw_upload_totals totals = {.size = sizeof totals};
    struct fw_failure why = {0};
    for (int i = 4; i < argc; i++)
        option(&o, argv[i]);
    if (!strcmp(argv[1], "now")) {
        fw_error error = fw_upload_now(&o, &totals, &why);
        print(error, &totals, why.message);
        return 0;
    }
    struct fw_upload *upload;
    fw_error error = fw_upload_start(&o, &upload, &why);
    if (!error) {
        char byte;
        while (read(STDIN_FILENO, &byte, 1) > 0) { /* each byte asks for the totals */
            fw_upload_totals(upload, &totals);
            print(error, &totals, "");
        }
        fw_upload_totals(upload, &totals);
        fw_upload_stop(upload, stop_ms);
    }
    print(error, &totals, why.message);
    return 0;
}
