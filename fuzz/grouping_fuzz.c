/* collector/grouping*.c: rules and names of any bytes. The input is rules, a line "--", and a
 * stack: lines IMAGE!FUNCTION or IMAGE. What comes out is text, the same each time, and knows
 * nothing of places in named code. */
#include "base/utf8.h"
#include "collector/grouping_inner.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES = 200 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void is_text(const char *text)
{
    for (size_t size; *text; text += size) {
        size = utf8_length(text);
        must(size > 0 && !utf8_is_control(text));
    }
}

static size_t read_stack(char *text, struct group_frame *frames)
{
    size_t count = 0;
    for (char *save, *line = strtok_r(text, "\n", &save); line && count < FRAMES;
         line = strtok_r(NULL, "\n", &save)) {
        struct group_frame *f = &frames[count++];
        char *mark = strchr(line, '!');
        *f = (struct group_frame){.image = line, .path = line, .is_main = *line == '*'};
        if (mark) {
            *mark = '\0';
            f->function = f->file = mark + 1;
        }
        f->offset = strlen(line) * 4096;
    }
    return count;
}

static void examine(const struct group_rules *rules, struct group_frame *frames, size_t count)
{
    struct arena arena = {0};
    struct group_answer one, two;
    must(group_stack(rules, frames, count, &arena, &one) == FW_OK);
    must(*one.title != '\0' && one.why[0] == '{');
    is_text(one.title);
    is_text(one.image);
    must(one.blamed == UINT32_MAX || one.blamed < count);
    for (size_t i = 0; i < count; i++) {
        bool failed = false;
        frames[i].line += 7;
        frames[i].offset += group_name(frames[i].function, &arena, &failed) ? 123456 : 0;
    }
    must(group_stack(rules, frames, count, &arena, &two) == FW_OK);
    must(memcmp(one.key, two.key, sizeof one.key) == 0 && strcmp(one.why, two.why) == 0);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct group_rules *builtin;
    if (!builtin)
        must(group_rules_parse(NULL, &builtin, NULL) == FW_OK);
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    char *stack = strstr(text, "\n--\n");
    if (stack) {
        struct group_frame frames[FRAMES];
        struct group_rules *rules = NULL;
        struct fw_failure why;
        *stack = '\0';
        fw_error error = group_rules_parse(text, &rules, &why);
        must(error == FW_OK ? rules != NULL : error == FW_ERR_FORMAT && !rules);
        size_t count = read_stack(stack + 4, frames);
        examine(rules ? rules : builtin, frames, count);
        group_rules_free(rules);
    }
    free(text);
    return 0;
}
