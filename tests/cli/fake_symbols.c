/* Canned answers; see the header for which. */
#include "cli/fake_symbols.h"

#include "cli/frame_sources.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct fw_source {
    const char *image;
    const char *story;
};

struct frame_sources {
    struct fw_source hang, libc;
};

static int open_count, most_asked;

int fake_symbols_open(void)
{
    return open_count;
}

int fake_symbols_most_asked(void)
{
    int most = most_asked;
    most_asked = 0;
    return most;
}

struct frame_sources *frame_sources_create(const struct dump *dump,
                                           const struct dump_options *options,
                                           struct progress *progress)
{
    (void)dump;
    (void)options;
    (void)progress;
    struct frame_sources *sources = calloc(1, sizeof *sources);
    if (sources == NULL)
        abort();
    open_count++;
    return sources;
}

void frame_sources_destroy(struct frame_sources *sources)
{
    open_count -= sources != NULL;
    free(sources);
}

bool frame_sources_find(struct frame_sources *sources, const struct fw_symbol *symbol,
                        struct fw_source **source)
{
    *source = NULL;
    if (symbol->image == NULL)
        return true;
    *source = strstr(symbol->image, "libc") != NULL ? &sources->libc : &sources->hang;
    (*source)->image = symbol->image;
    (*source)->story = "lines from /usr/lib/debug/hang.debug";
    return true;
}

void frame_sources_failed(struct frame_sources *sources, const struct fw_source *source,
                          const struct fw_failure *why)
{
    if (source == &sources->libc && why->code == FW_ERR_CORRUPT)
        sources->libc.story = "no lines: libc.debug: damaged";
}

const char *frame_sources_story(const struct frame_sources *sources, const char *image)
{
    return image == sources->hang.image   ? sources->hang.story
           : image == sources->libc.image ? sources->libc.story
                                          : NULL;
}

/* Answers */

enum { NOT_WITH = 1 }; /* as a caller: none */

static const struct {
    uint64_t start, caller; /* caller 0: any; else the answer holds when this address called */
    struct fw_symbol_frame frame;
} known[] = {
    /* A function whose symbol has another name, which people know better. */
    {0x401000, 0, {.function = "main_of_debug_info", .file = "/src/hang.c", .line = 42}},
    {0x401100,
     0,
     {.function = "hang::Queue::pop()",
      .mangled = "_ZN4hang5Queue3popEv",
      .file = "/src/include/queue.h",
      .line = 17,
      .flags = FW_SYMBOL_INLINED}},
    {0x401100,
     0,
     {.function = "hang::Server::next()",
      .file = "/src/server.cc",
      .line = 80,
      .flags = FW_SYMBOL_INLINED}},
    {0x401100, 0, {.function = "hang::Server::wait(int)", .file = "/src/server.cc", .line = 88}},
    /* A tail call in between. */
    {0x401200, 0, {.function = "foo::bar", .file = "/src/evil;\033[31mname.rs", .line = 7}},
    {0x401200,
     0x401355,
     {.function = "hang::Job::last()",
      .file = "/src/job.h",
      .line = 3,
      .flags = FW_SYMBOL_TAIL_CALL | FW_SYMBOL_INLINED}},
    {0x401200,
     0x401355,
     {.function = "hang::Job::step()",
      .mangled = "_ZN4hang3Job4stepEv",
      .file = "/src/job.cc",
      .line = 9,
      .flags = FW_SYMBOL_TAIL_CALL}},
    /* No symbol, but a name in debug information. */
    {0x401600,
     0,
     {.function = "helper",
      .mangled = "helper",
      .file = "/src/helper.c",
      .start = 0x401600,
      .offset = 0x20}},
    /* Several ways from main to here; how recursion called itself is certain. */
    {0x401800,
     0x401020,
     {.function = "recurse", .file = "/src/hang.c", .line = 6, .flags = FW_SYMBOL_AMBIGUOUS_TAIL}},
    {0x401800, NOT_WITH, {.function = "recurse", .file = "/src/hang.c", .line = 6}},
    {0x401800, 0x401812, {.function = "recurse", .file = "/src/hang.c", .line = 6}},
};

struct answer {
    struct fw_symbols symbols;
    struct fw_resolved *items;
    struct fw_symbol_frame (*frames)[COUNT(known)];
};

static void resolve(uint64_t address, uint64_t caller, struct fw_symbol_frame *frames,
                    struct fw_resolved *item)
{
    for (size_t i = 0; i < COUNT(known); i++) {
        if (address - known[i].start >= 0x100 ||
            (known[i].caller != 0 && known[i].caller != caller))
            continue;
        frames[item->frame_count] = known[i].frame;
        frames[item->frame_count++].start = known[i].start;
    }
    item->frames = frames;
}

static bool continues(const struct fw_stack_address *stack, size_t count, size_t i)
{
    return i + 1 < count && stack[i].source != NULL && stack[i + 1].source == stack[i].source;
}

static void count_asked(const struct fw_stack_address *stack, size_t count, size_t at)
{
    int asked = 0;
    for (size_t i = 0; i < count; i++)
        asked += continues(stack, count, i) &&
                 memcmp(&stack[i].address, &stack[at].address, sizeof stack[i].address) == 0 &&
                 stack[i + 1].address.value == stack[at + 1].address.value;
    most_asked = asked > most_asked ? asked : most_asked;
}

fw_error fw_source_info(const struct fw_source *source, struct fw_source_info *info)
{
    *info = (struct fw_source_info){.size = info->size, .path = source->image, .missing = ""};
    return FW_OK;
}

fw_error fw_symbolicate_stack(const struct fw_stack_address *stack, size_t count,
                              struct fw_symbols **symbols, struct fw_failure *why)
{
    for (size_t i = 0; i < count; i++) {
        if (stack[i].source != NULL && strstr(stack[i].source->image, "libc") != NULL) {
            *why = (struct fw_failure){.code = FW_ERR_CORRUPT};
            return FW_ERR_CORRUPT;
        }
    }
    struct answer *answer = calloc(1, sizeof *answer);
    if (answer == NULL)
        abort();
    answer->items = calloc(count, sizeof *answer->items);
    answer->frames = calloc(count, sizeof *answer->frames);
    if (answer->items == NULL || answer->frames == NULL)
        abort();
    answer->symbols = (struct fw_symbols){answer->items, count};
    for (size_t i = 0; i < count; i++) {
        bool called = continues(stack, count, i);
        uint64_t back = (stack[i].address.space & FW_ADDRESS_RETURN) != 0;
        if (stack[i].source != NULL)
            resolve(stack[i].address.value - back, called ? stack[i + 1].address.value : NOT_WITH,
                    answer->frames[i], &answer->items[i]);
        if (called)
            count_asked(stack, count, i);
    }
    *symbols = &answer->symbols;
    open_count++;
    return FW_OK;
}

void fw_symbols_free(struct fw_symbols *symbols)
{
    struct answer *answer = (struct answer *)(void *)symbols;
    if (answer == NULL)
        return;
    free(answer->items);
    free(answer->frames);
    free(answer);
    open_count--;
}
