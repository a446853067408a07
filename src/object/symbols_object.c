/* The symbol index of an object file: its tables, those of its debug file and of MiniDebugInfo. */
#include "object/excerpt.h"
#include "object/object_internal.h"
#include "object/symbols_builder.h"

struct reading {
    struct symbols_builder builder;
    struct object *object; /* whose table is being read */
    const struct excerpt *excerpt;
};

uint64_t symbol_code_limit(const struct object *object, const struct object_symbol *symbol)
{
    if (symbol->section == 0)
        return 0;
    if (symbol->section < object->section_count) {
        const struct object_section *s = &object->sections[symbol->section].view;
        bool inside = symbol->vaddr - s->vaddr < s->size && s->vaddr + s->size > s->vaddr;
        return s->code && inside ? s->vaddr + s->size : 0;
    }
    ptrdiff_t i = object_load_at(object, symbol->vaddr);
    if (i < 0 || !object->loads[i].executable)
        return 0;
    return object->loads[i].vaddr + object->loads[i].memory_size;
}

static bool take_symbol(void *context, const struct object_symbol *symbol)
{
    struct reading *r = context;
    uint64_t limit = symbols_takes(symbol) ? symbol_code_limit(r->object, symbol) : 0;
    if (limit)
        symbols_take_one(&r->builder, symbol, limit);
    return !r->builder.failed;
}

static void take_object(struct reading *r, struct object *object)
{
    r->object = object;
    r->builder.version_bytes += object->format->versioned_names ? object->file.size : 0;
    r->builder.dynamic = false;
    if (excerpt_symbols(r->excerpt, object, false, take_symbol, r) == FW_OK)
        r->builder.full_tables++;
    r->builder.dynamic = true;
    excerpt_symbols(r->excerpt, object, true, take_symbol, r);
}

bool symbols_debug_fits(const struct object *object, const struct object *debug)
{
    return debug->machine == object->machine && debug->is_64 == object->is_64;
}

struct symbols *symbols_build_excerpt(struct object *object, struct object *debug,
                                      const struct excerpt *excerpt)
{
    struct reading r = {.excerpt = excerpt};
    struct code_bounds bounds = {0};
    if (object->type == OBJECT_CORE)
        return symbols_finish(&r.builder, &bounds);
    take_object(&r, object);
    if (debug && symbols_debug_fits(object, debug))
        take_object(&r, debug);
    struct object *mini = object_minidebug(object, NULL);
    if (mini)
        take_object(&r, mini);
    bool whole = object->format->stubs(object, symbols_take_stub, &r.builder);

    struct unwind_image image;
    object_unwind_image(object, NULL, &image);
    whole &= code_bounds_init(&bounds, object, &image);
    whole &= !object_lacks_memory(object) && !(debug && object_lacks_memory(debug));
    r.builder.failed |= !whole;
    struct symbols *symbols = symbols_finish(&r.builder, &bounds);
    code_bounds_free(&bounds);
    return symbols;
}

struct symbols *symbols_build(struct object *object, struct object *debug)
{
    return symbols_build_excerpt(object, debug, NULL);
}
