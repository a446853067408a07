/*
 * What goes into apps, on every system and architecture: the same report is the same bytes, the
 * survey finds in every part of it what is whole, and a report can be ended behind its writer.
 */
#include "report/fwr_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Of fuzz/corpus/fwr/everything, which fwr_example writes anew. */
enum { EXAMPLE_SIZE = 1236 };
static const uint32_t example_sum = 0xfa5ab064;

static void same_bytes(void **state)
{
    struct fwr_file file = {0};
    (void)state;
    fwr_write_example(&file);
    assert_int_equal(file.size, EXAMPLE_SIZE);
    assert_true(fwr_crc(0, file.data, file.size) == example_sum);
    fwr_file_free(&file);
}

/* RFC 3720, appendix B.4; in two parts at any place. */
static void checksum(void **state)
{
    uint8_t bytes[32];
    (void)state;
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    for (size_t cut = 0; cut <= sizeof bytes; cut++)
        assert_true(fwr_crc(fwr_crc(0, bytes, cut), bytes + cut, sizeof bytes - cut) == 0x46dd794e);
}

static void survey_and_tail(void **state)
{
    struct fwr_file file = {0};
    (void)state;
    fwr_write_example(&file);
    size_t records = 0;
    uint64_t whole = 0;
    for (size_t size = 0; size <= file.size; size++) {
        struct fwr_file part = {.data = file.data, .size = size};
        struct fwr_state found;
        assert_int_equal(fwr_survey(fwr_file_read, &part, &found), FW_OK);
        records += found.whole > whole;
        whole = found.whole;
        assert_true(found.ended == (size == file.size));
        if (!found.has_hang || found.has_hang_end)
            continue;
        struct fwr_file repaired = {0};
        uint8_t tail[FWR_TAIL_MAX];
        const struct fwr_hang_end end = {.ending = FWR_KILLED, .duration_ns = found.duration_ns};
        fwr_file_sink(&repaired, file.data, (size_t)found.whole);
        fwr_file_sink(&repaired, tail, fwr_tail_hang_end(tail, &end));
        fwr_file_sink(&repaired, tail, fwr_tail_end(tail));
        assert_int_equal(fwr_survey(fwr_file_read, &repaired, &found), FW_OK);
        assert_true(found.ended && found.whole == repaired.size && found.ending == FWR_KILLED);
        fwr_file_free(&repaired);
    }
    assert_int_equal(records, 19);
    fwr_file_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes),
        cmocka_unit_test(checksum),
        cmocka_unit_test(survey_and_tail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
