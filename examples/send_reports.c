/*
 * A program that sends the reports in a folder: send_reports FOLDER URL KEYFILE. One that runs for
 * long calls fw_upload_start instead, which sends them as they come.
 */
#include <framewalk/upload.h>

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: send_reports FOLDER URL KEYFILE\n");
        return 2;
    }
    struct fw_upload_options options = {
        .size = sizeof options, .folder = argv[1], .url = argv[2], .key_file = argv[3]};
    struct fw_upload_totals totals = {.size = sizeof totals};
    struct fw_failure why;
    if (fw_upload_now(&options, &totals, &why) != FW_OK) {
        fprintf(stderr, "send_reports: %s\n", why.message);
        return 1;
    }
    printf("%" PRIu64 " sent, %" PRIu64 " waiting\n", totals.sent, totals.waiting);
    return 0;
}
