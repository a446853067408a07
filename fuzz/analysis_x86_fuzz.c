/* Instruction analysis and trampoline recognition of x86 over arbitrary code. The first bytes
 * choose the architecture, the address, and the function's bounds. */
#include "../tests/support/function_starts.h"
#include "base/reader.h"
#include "unwind/analysis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader r = reader_over(data, size);
    uint8_t how = reader_u8(&r);
    uint16_t start = reader_u16(&r), entry = reader_u16(&r);
    uint8_t sizes[2] = {reader_u8(&r), reader_u8(&r)};
    if (r.failed)
        return 0;
    uint8_t list[20];
    struct starts_list starts = {.bytes = list};
    starts_add(&starts, 0x1000u + start - sizes[0]);
    starts_add(&starts, 0x1000u + start + sizes[1]);
    struct unwind_image image = {.arch = how & 1 ? &arch_x86_64 : &arch_i386,
                                 .lo = 0x1000,
                                 .hi = 0x1000 + reader_left(&r),
                                 .entry = how & 2 ? 0x1000u + entry : 0,
                                 .text = {r.pos, reader_left(&r), 0x1000},
                                 .function_starts = {list, how & 4 ? starts.size : 0, 0}};
    if (how & 8)
        image.plt[0] = image.text;
    struct unwind_row row = {.cfa_reg = image.arch->sp,
                             .cfa_offset = image.arch->pointer_size,
                             .lo = 0x1000u + entry,
                             .hi = image.hi};
    analysis_correct_x86(&image, 0x1000u + start, how & 16, &row);
    analysis_find_x86(&image, 0x1000u + start, how & 16, &row);
    sigframe_find_x86(&image, 0x1000u + start, &row);
    return 0;
}
