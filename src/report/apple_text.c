#include "report/apple_text.h"

#include "base/array.h"
#include "report/lines.h"

/* `App [4242]`. */
static void split_process(struct report_build *b, struct cursor value)
{
    struct report_info *info = &b->report->info;
    struct cursor pid = value;
    size_t open = cursor_rfind(&value, " [");
    uint64_t number;
    if (open == SIZE_MAX)
        return;
    pid.pos = open + 2;
    struct cursor digits = pid;
    if (!cursor_number(&digits, &number) || !cursor_starts(&digits, "]"))
        return;
    pid.end = digits.pos;
    value.end = open;
    info->process = build_text(b, value);
    if (!info->pid)
        info->pid = build_text(b, pid);
}

void apple_header(struct report_build *b, struct cursor line)
{
    struct report_info *info = &b->report->info;
    const struct {
        const char *key;
        const char **field;
    } keys[] = {
        {"Process:", &info->process},
        {"Command:", &info->process},
        {"Path:", &info->path},
        {"Identifier:", &info->bundle},
        {"Version:", &info->version},
        {"Code Type:", &info->arch},
        {"Architecture:", &info->arch},
        {"OS Version:", &info->os},
        {"Date/Time:", &info->date},
        {"Hardware Model:", &info->device},
        {"Hardware model:", &info->device},
        {"Incident Identifier:", &info->incident},
        {"Exception Type:", &info->exception},
        {"Termination Reason:", &info->termination},
        {"Exception Subtype:", &info->reason},
        {"PID:", &info->pid},
        {"Event:", &info->exception},
        {"Duration:", &info->reason},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (*keys[i].field || !cursor_word(&line, keys[i].key))
            continue;
        *keys[i].field = build_text(b, cursor_trim(line));
        if (keys[i].field == &info->process)
            split_process(b, cursor_trim(line));
        break;
    }
    if (info->arch && (strncmp(info->arch, "ARM-64", 6) == 0 || strstr(info->arch, "arm64")))
        b->pointer_auth = true;
}

void apple_source(struct report_build *b, struct report_name *name, struct cursor source)
{
    size_t colon = cursor_rfind(&source, ":");
    if (colon == SIZE_MAX || colon == source.pos)
        return;
    struct cursor file = source, line = source;
    file.end = colon;
    line.pos = colon + 1;
    uint64_t number;
    if (!cursor_number(&line, &number) || number > UINT32_MAX ||
        (cursor_left(&line) && cursor_peek(&line) != ','))
        return;
    name->file = build_text(b, file);
    name->line = (uint32_t)number;
}

uint8_t apple_mark(struct cursor *c)
{
    return cursor_word(c, "[inlined] ")     ? REPORT_INLINED
           : cursor_word(c, "[tail call] ") ? REPORT_TAIL_CALL
                                            : 0;
}

struct report_name *apple_symbol(struct report_build *b, struct report_frame *frame,
                                 struct cursor symbol)
{
    uint64_t offset = 0, ignored;
    bool has_offset = false;
    static const char suffix[] = " [inlined]"; /* as others mark them */
    uint8_t flags = apple_mark(&symbol);
    if (!flags && cursor_left(&symbol) > strlen(suffix) &&
        memcmp(symbol.data + symbol.end - strlen(suffix), suffix, strlen(suffix)) == 0) {
        flags = REPORT_INLINED;
        symbol.end -= strlen(suffix);
    }
    struct cursor name = symbol;
    size_t plus = cursor_rfind(&symbol, " + ");
    if (plus != SIZE_MAX) {
        struct cursor number = symbol;
        number.pos = plus + 3;
        has_offset = cursor_number(&number, &offset) && cursor_left(&number) == 0;
        if (has_offset)
            name.end = plus;
    }
    struct cursor address = name;
    if (cursor_left(&name) == 0 || cursor_starts(&name, "???") ||
        (cursor_address(&address, &ignored) && cursor_left(&address) == 0))
        return NULL;
    struct report_name *known = build_known(b, frame);
    if (!known)
        return NULL;
    known->function = build_text(b, name);
    known->has_offset = has_offset;
    known->offset = offset;
    known->flags = flags;
    return known;
}

void tree_put(struct report_build *b, struct tree_place *place, size_t column,
              struct report_frame *frame)
{
    while (place->depth > 0 && place->levels[place->depth - 1].column >= column)
        place->depth--;
    if (place->depth > 0)
        frame->parent = place->levels[place->depth - 1].frame;
    const struct report *r = b->report;
    if (frame->parent != REPORT_NONE && frame->name_count && r->names[frame->first_name].flags) {
        frame->node = LINES_MARKED;
        r->frames[frame->parent].node = LINES_MARKED;
    }
    if (!array_room(&place->levels, &place->capacity, place->depth, sizeof *place->levels)) {
        b->error = FW_ERR_MEMORY;
        return;
    }
    place->levels[place->depth++] =
        (struct tree_level){column, (uint32_t)(b->report->frame_count - 1)};
}

/* `0xSTART - 0xEND [+]name [arch] [(version)] <uuid> path`. */
static bool read_image(struct report_build *b, struct cursor line)
{
    struct report_image image = {0};
    uint64_t last;
    cursor_space(&line);
    cursor_take(&line, '*');
    if (!cursor_address(&line, &image.load))
        return false;
    cursor_space(&line);
    if (!cursor_take(&line, '-'))
        return false;
    cursor_space(&line);
    if (cursor_address(&line, &last))
        image.size = last >= image.load ? last - image.load + 1 : 0;
    else if (!cursor_word(&line, "???"))
        return false;
    image.has_load = true;
    cursor_space(&line);
    cursor_take(&line, '+');
    size_t open = cursor_find(&line, "<");
    struct cursor name = line, rest = line;
    if (open != SIZE_MAX) {
        struct cursor id = line;
        id.pos = open + 1;
        size_t close = cursor_find(&id, ">");
        id.end = close == SIZE_MAX ? id.end : close;
        build_id(&image, id);
        name.end = open;
        rest.pos = close == SIZE_MAX ? rest.end : close + 1;
    }
    rest = cursor_trim(rest);
    name = cursor_trim(name);
    if (image.load == 0 && image.id_size == 0)
        return true; /* all that is nowhere */
    if (open != SIZE_MAX && cursor_left(&rest))
        image.path = build_text(b, rest);
    size_t blank = cursor_rfind(&name, " ");
    if (blank != SIZE_MAX) {
        struct cursor arch = name;
        arch.pos = blank + 1;
        if (cursor_starts(&arch, "arm") || cursor_starts(&arch, "x86_64") ||
            cursor_starts(&arch, "i386")) {
            image.arch = build_text(b, arch);
            name.end = blank;
        }
    }
    if (!image.path)
        image.name = build_text(b, cursor_trim(name));
    build_name_of_path(&image);
    build_image(b, &image);
    return true;
}

void read_binary_images(struct report_build *b, struct cursor *lines)
{
    struct cursor line;
    for (struct cursor ahead = *lines; !b->error && cursor_line(&ahead, &line); *lines = ahead) {
        struct cursor trimmed = cursor_trim(line);
        cursor_skip(&trimmed, "> \t");
        if (!read_image(b, trimmed) && cursor_left(&trimmed))
            return;
    }
}
