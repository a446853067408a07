/* An application that sends reports: here of an empty folder, once with libcurl, once with a way to
 * the network of its own. */
#include <framewalk/upload.h>

#include <stdio.h>

static void refuse(void *context, const struct fw_upload_request *request,
                   struct fw_upload_response *response)
{
    (void)context;
    (void)request;
    response->status = 503;
}

int main(int argc, char **argv)
{
    struct fw_upload_options options = {
        .size = sizeof options, .folder = argc > 1 ? argv[1] : ".", .url = "https://localhost"};
    struct fw_upload_totals totals = {.size = sizeof totals};
    struct fw_failure why = {0};
    for (int own = 0; own < 2; own++) {
        options.transport = own ? refuse : NULL;
        if (fw_upload_now(&options, &totals, &why) != FW_OK) {
            puts(why.message);
            return 1;
        }
    }
    struct fw_upload *upload;
    if (fw_upload_start(&options, &upload, &why) != FW_OK)
        return 1;
    fw_upload_stop(upload, 10000);
    printf("%u requests\n", (unsigned)totals.requests);
    return 0;
}
