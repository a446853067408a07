/* Every form of a report, the same report back aside: what the two targets of reports share. The
 * writers of weighted stacks may refuse (no stack, trees too deep), and nothing else. */
#ifndef FUZZ_REPORT_FORMS_H
#define FUZZ_REPORT_FORMS_H

#include "report/report.h"

#include <stdlib.h>

static void write_forms(const struct report *r, report_resolve resolve)
{
    static fw_error (*const writers[])(const struct report *, report_resolve, void *,
                                       struct report_bytes *) = {
        report_to_json,  report_to_crash,   report_to_collapsed, report_to_speedscope,
        report_to_pprof, report_to_firefox, report_to_text,
    };
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        struct report_bytes out = {0};
        fw_error error = writers[i](r, resolve, NULL, &out);
        bool refused = error == FW_ERR_UNSUPPORTED || error == FW_ERR_FULL;
        if (error && (i == 0 || !refused))
            abort();
        report_bytes_free(&out);
    }
}

#endif
