/* Every row of a symbol map in address order, and the gaps between them. */
#include "symmap/map.h"

struct visit {
    bool (*each)(void *context, const struct symmap_row *row);
    void *context;
    struct symmap_frame frames[DEPTH_LIMIT + 1];
    bool stopped;
};

static void visit(struct visit *visit, const struct symmap_row *row)
{
    if (row->hi > row->lo && !visit->stopped)
        visit->stopped = !visit->each(visit->context, row);
}

static bool visit_block(const struct symmap *map, uint32_t block, uint64_t *at, uint64_t limit,
                        struct visit *v)
{
    struct rows rows;
    if (!map_rows_begin(map, block, &rows) || rows.hi < *at)
        return false;
    visit(v, &(struct symmap_row){*at, rows.hi, NULL, 0});
    while (!v->stopped && map_rows_next(&rows)) {
        size_t count;
        if (rows.hi > limit || !map_frames(map, &rows, v->frames, DEPTH_LIMIT + 1, &count))
            return false;
        visit(v, &(struct symmap_row){rows.lo, rows.hi, v->frames, count});
    }
    *at = rows.hi;
    return v->stopped || !rows.left;
}

fw_error symmap_each_row(const struct symmap *map,
                         bool (*each)(void *context, const struct symmap_row *row), void *context)
{
    struct visit v = {.each = each, .context = context};
    uint64_t at = map->block_count ? map_u32(map, SECTION_BLOCK_STARTS, 0) : 0;
    for (uint32_t block = 0; block < map->block_count && !v.stopped; block++) {
        uint64_t limit = block + 1 < map->block_count
                             ? map_u32(map, SECTION_BLOCK_STARTS, block + 1)
                             : UINT64_MAX;
        if (!visit_block(map, block, &at, limit, &v))
            return FW_ERR_CORRUPT;
    }
    return FW_OK;
}
