/*
 * Files that a core dump lacks: the program was built anew since it crashed, or the core comes from
 * another machine. Said once for each image on the stacks, with what to do about it.
 */
#include "base/array.h"
#include "base/hex.h"
#include "cli/dump.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 6 };

struct lacking {
    const char **images; /* fw_symbol.image: one pointer an image */
    size_t count, room;
};

/* True when it was noted before, or now. */
static bool note_once(struct lacking *lacking, const char *image, bool *first)
{
    *first = false;
    for (size_t i = 0; i < lacking->count; i++)
        if (lacking->images[i] == image)
            return true;
    if (!array_room(&lacking->images, &lacking->room, lacking->count, sizeof(*lacking->images)))
        return false;
    lacking->images[lacking->count++] = image;
    *first = true;
    return true;
}

static void tell(struct dump *dump, const struct fw_symbol *symbol)
{
    char id[2 * 64 + 1] = "unknown";
    const char *executable = dump->info.executable;
    bool program = executable != NULL && strcmp(symbol->image, executable) == 0;
    bool other = symbol->image_file == FW_IMAGE_FILE_OTHER;
    if (symbol->build_id_size > 0)
        hex_text(id, symbol->build_id, symbol->build_id_size < 64 ? symbol->build_id_size : 64);
    dump_miss(dump, "%.300s %s (build id %s): %s", symbol->image,
              other ? "is another file than this core's" : "is not there", id,
              program ? "name the program that crashed with --exe"
                      : "name a folder that has it with --sysroot");
}

static bool look_at(struct dump *dump, const struct dump_stack *stack, struct lacking *lacking)
{
    for (uint32_t i = 0; i < stack->count; i++) {
        struct fw_symbol symbol;
        bool first;
        if (fw_process_symbol(dump->process, &stack->frames[i], &symbol) != FW_OK)
            return false;
        if (symbol.image == NULL || symbol.image_file == FW_IMAGE_FILE_READ)
            continue;
        if (!note_once(lacking, symbol.image, &first))
            return false;
        if (first && lacking->count <= MOST_SHOWN)
            tell(dump, &symbol);
    }
    return true;
}

bool dump_find_files(struct dump *dump)
{
    struct lacking lacking = {0};
    bool ok = true;
    for (size_t t = 0; t < dump->thread_count && ok; t++)
        for (size_t s = 0; s < dump->threads[t].stack_count && ok; s++)
            ok = look_at(dump, &dump->threads[t].stacks[s], &lacking);
    if (ok && lacking.count > MOST_SHOWN)
        dump_miss(dump, "%zu more files of this core are not there", lacking.count - MOST_SHOWN);
    free(lacking.images);
    return ok;
}
