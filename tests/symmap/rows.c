#include "symmap/rows.h"

#include "base/array.h"
#include "symbolicate/find.h"
#include "symmap/convert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add_frame(FILE *to, const struct symmap_frame *frame)
{
    const char *directory = frame->directory ? frame->directory : "";
    size_t size = strlen(directory);
    fprintf(to, "%s|", frame->name ? frame->name : "");
    if (frame->file)
        fprintf(to, "%s%s%s", directory, size && directory[size - 1] != '/' ? "/" : "",
                frame->file);
    fprintf(to, ":%u;", frame->line);
}

static bool add_row(void *context, const struct symmap_row *row)
{
    struct rows_list *list = context;
    if (!row->frame_count ||
        (row->frame_count == 1 && !row->frames[0].name && !row->frames[0].file))
        return true;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    for (size_t i = 0; i < row->frame_count; i++)
        add_frame(to, &row->frames[i]);
    fclose(to);
    struct rows_entry *last = list->count ? &list->items[list->count - 1] : NULL;
    if (last && last->hi == list->base + row->lo && strcmp(last->text, text) == 0) {
        last->hi = list->base + row->hi;
        free(text);
        return true;
    }
    assert_true(array_room(&list->items, &list->capacity, list->count, sizeof *list->items));
    list->items[list->count++] =
        (struct rows_entry){list->base + row->lo, list->base + row->hi, text};
    return true;
}

void rows_of(const struct symmap *map, struct rows_list *list)
{
    *list = (struct rows_list){.base = symmap_identity(map)->base};
    assert_int_equal(symmap_each_row(map, add_row, list), FW_OK);
}

void rows_free(struct rows_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].text);
    free(list->items);
    *list = (struct rows_list){0};
}

void assert_same_rows(const struct rows_list *a, const struct rows_list *b)
{
    unsigned shown = 0;
    for (size_t i = 0; i < a->count && i < b->count && shown < 5; i++) {
        const struct rows_entry *x = &a->items[i], *y = &b->items[i];
        if (x->lo != y->lo || x->hi != y->hi || strcmp(x->text, y->text) != 0) {
            print_error("%llx-%llx %s\n%llx-%llx %s\n\n", (unsigned long long)x->lo,
                        (unsigned long long)x->hi, x->text, (unsigned long long)y->lo,
                        (unsigned long long)y->hi, y->text);
            shown++;
        }
    }
    assert_int_equal(shown, 0);
    assert_int_equal(a->count, b->count);
}

struct symmap *map_of_file(const char *path, uint8_t **bytes)
{
    struct object *object;
    struct debug_files *files;
    struct fw_failure why = {0};
    if (object_open(path, &object, &why) != FW_OK)
        return NULL;
    assert_int_equal(debug_files_find(object, path, &(struct debug_find_options){0}, &files, &why),
                     FW_OK);
    const struct convert_options options = {.threads = 2, .calls = true};
    size_t size;
    assert_int_equal(symmap_convert(object, files->debug, &files->companions, &options, bytes,
                                    &size, NULL, &why),
                     FW_OK);
    struct symmap *map;
    assert_int_equal(symmap_open_bytes((struct span){*bytes, size}, true, "made here", &map, &why),
                     FW_OK);
    debug_files_close(files);
    object_close(object);
    return map;
}
