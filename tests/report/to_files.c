/* Writes the reports of watch_reports.c in each form into a folder, for the programs that open
 * them: to_files FOLDER. */
#include "report/watch_reports.h"

#include <stdio.h>
#include <stdlib.h>

static bool save(const char *folder, const char *name, const char *form,
                 const struct report_bytes *bytes)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, form);
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(bytes->data, 1, bytes->size, file) == bytes->size;
    return file && fclose(file) == 0 && good;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *form;
        fw_error (*write)(const struct report *, report_resolve, void *, struct report_bytes *);
    } forms[] = {{"json", report_to_json},
                 {"collapsed", report_to_collapsed},
                 {"speedscope.json", report_to_speedscope},
                 {"pprof.gz", report_to_pprof},
                 {"firefox.json", report_to_firefox},
                 {"txt", report_to_text}};
    const struct {
        const char *name;
        const struct report *report;
    } reports[] = {
        {"hang", hang_report()}, {"calls", calls_report()}, {"hostile", hostile_report()}};
    for (size_t r = 0; argc == 2 && r < 3; r++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            struct report_bytes out = {0};
            if (forms[f].write(reports[r].report, NULL, NULL, &out) != FW_OK ||
                !save(argv[1], reports[r].name, forms[f].form, &out)) {
                fprintf(stderr, "%s as %s failed\n", reports[r].name, forms[f].form);
                return EXIT_FAILURE;
            }
            report_bytes_free(&out);
        }
    return argc == 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}
