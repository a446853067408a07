/*
 * Recorded stacks of Android programs (AOSP libunwindstack's offline files): the walk from the
 * recorded registers and stack bytes must give the recorded answer, address for address, and the
 * symbol tables its function names.
 *
 * test_recorded CASE FOLDER. The recorded answer prints a return address moved back into the call
 * before it (1 byte on x86, 4 on aarch64 and ARM, the size of the call in Thumb), with the Thumb
 * bit; Framewalk keeps the address and its kind apart, so the test moves it back.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "demangle/demangle.h"
#include "object/codecs.h"
#include "recorded/recording.h"

static const char *case_name, *case_folder;

/* Where Framewalk knowingly ends before the recorded answer does. */
static const struct {
    const char *name;
    size_t frames; /* of ours */
    const char *why;
} shorter[] = {
    {"eh_frame_bias_x86", 10,
     "the recorded walk takes argc, which lies on top of _start's stack, "
     "for one more return address"},
};

/* Frames that a signal interrupted, whose address is exact, but which the recorded walker took for
 * return addresses, for it knew the trampoline by its table and not as a trampoline. */
static const struct {
    const char *name;
    size_t frame;
} moved_back[] = {
    {"zlib_compress_arm", 3}, /* abort, behind its system call */
};

static bool is_moved_back(size_t frame)
{
    for (size_t i = 0; i < sizeof moved_back / sizeof moved_back[0]; i++)
        if (strcmp(moved_back[i].name, case_name) == 0 && moved_back[i].frame == frame)
            return true;
    return false;
}

static size_t frames_wanted(const struct recording *r)
{
    for (size_t i = 0; i < sizeof shorter / sizeof shorter[0]; i++)
        if (strcmp(shorter[i].name, case_name) == 0) {
            print_message("%s: %s\n", case_name, shorter[i].why);
            return shorter[i].frames;
        }
    return r->expected_count;
}

/* How far the call lies before a return address. */
static unsigned call_size(const struct recording *r, const struct recorded_map *map,
                          uint64_t address, bool thumb)
{
    uint16_t first;
    switch (r->arch->id) {
    case ARCH_X86_64:
    case ARCH_I386: return 1;
    case ARCH_ARM:
        if (thumb && map && map->object) {
            const struct unwind_section *text = &map->image.text;
            uint64_t at = address - 4 - map->image.bias - text->vaddr;
            assert_true(at + 2 <= text->size);
            memcpy(&first, text->data + at, 2);
            return first >= 0xe800 ? 4 : 2;
        }
        return 4;
    default: return 4;
    }
}

static void check_name(const struct recorded_map *map, uint64_t pc,
                       const struct expected_frame *expected)
{
    static char text[DEMANGLE_TEXT_SIZE];
    struct symbol_match match;
    bool found = map->symbols && symbols_lookup(map->symbols, pc, &match);
    if (!expected->function[0])
        return;
    assert_true(found);
    /* Android's linker puts __dl_ before all its names, mangled or not. */
    size_t prefix = strncmp(match.name, "__dl_", 5) == 0 ? 5 : 0;
    memcpy(text, match.name, prefix);
    const char *name = demangle(match.name + prefix, NULL, text + prefix, sizeof text - prefix)
                           ? text
                           : match.name;
    if (strcmp(name, expected->function) != 0 || match.offset != expected->offset)
        fail_msg("%s+%" PRIu64 " instead of %s+%" PRIu64, name, match.offset, expected->function,
                 expected->offset);
}

static void check_frame(const struct recording *r, const struct fw_frame *frame, bool back,
                        const struct expected_frame *expected)
{
    bool thumb = r->arch->id == ARCH_ARM && (expected->pc & 1);
    uint64_t address = frame->address;
    const struct recorded_map *map =
        recording_map(r, address - (frame->kind == FW_FRAME_RETURN ? 1 : 0));
    if (back)
        assert_int_equal(frame->kind, FW_FRAME_EXACT);
    if (frame->kind == FW_FRAME_RETURN || back)
        address -= call_size(r, map, address, thumb);
    uint64_t pc = address - (map && map->object ? map->image.bias : 0);
    print_message("  %016" PRIx64 " %s %s\n", pc, map ? map->name : "<unknown>",
                  fw_method_text((fw_method)frame->method));
    assert_int_equal(pc | thumb, expected->pc);
    assert_string_equal(map ? map->name : "<unknown>", expected->module);
    if (map && map->object)
        check_name(map, pc, expected);
}

static void recorded_answer(void **state)
{
    (void)state;
    static struct recording recording;
    struct fw_frame frames[MAX_EXPECTED];
    struct fw_stack stack = {.frames = frames, .capacity = MAX_EXPECTED};
    if (!recording_open(&recording, case_folder)) {
        print_message("skip: no recorded stack in %s\n", case_folder);
        skip();
    }
    if (recording.missing[0]) {
        /* Code compiled ahead of time on the device (boot.oat, base.odex, ...) and the libraries
         * around it are kept apart from the recordings, for they are large. */
        print_message("skip: %s needs %s, which is not among the data\n", case_name,
                      recording.missing);
        skip();
    }
    walk_stack(&recording.space, &recording.memory, &recording.regs,
               &(struct walk_options){.exact_first = true}, &stack);
    print_message("%s: %u frames, %s\n", case_name, stack.count, fw_end_text(stack.end));
    size_t wanted = frames_wanted(&recording);
    for (size_t i = 0; i < stack.count && i < wanted; i++)
        check_frame(&recording, &frames[i], is_moved_back(i), &recording.expected[i]);
    assert_int_equal(stack.count, wanted);
    recording_close(&recording);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_answer)};
    if (argc != 3)
        return 2;
    case_name = argv[1];
    case_folder = argv[2];
    object_set_codecs(&object_codecs_all);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
