/*
 * Fills a collector's database as if it had run for a month: so that views can be measured with as
 * many reports as one wants, without sending them.
 *
 *     fill URL REPORTS GROUPS [MAP_BLOB OTHER_BLOB]
 *
 * A program of 40 images in 8 versions, each rolled out over some days; 8 systems, 20 devices;
 * GROUPS places that hang, the first of them most often; stacks of 30 frames. Rows of reports,
 * stacks, weights and calls are written, and the sums made from them. With MAP_BLOB (a symbol map's
 * key in the blob store) the app's five images have that map, the others the second one, and
 * offsets lie in the first 8 MB. The same
 * arguments give the same rows, days aside: the last one is today.
 */
#include "collector/collector.h"
#include "collector/db.h"
#include "collector/grouping_inner.h"
#include "collector/stack_code.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { IMAGES = 40, VERSIONS = 8, SYSTEMS = 8, DEVICES = 20, DAYS = 30, FRAMES = 30, APIS = 12 };
enum { CALLERS = 150, CALL_STACKS = 3, BATCH = 2000, SPAN = 8 << 20 };

struct fill {
    struct db_conn *conn;
    struct fw_failure why;
    uint64_t random;
    int64_t project, today, reports, groups;
    int64_t images[IMAGES], versions[VERSIONS], systems[SYSTEMS], devices[DEVICES];
    int64_t first_stack, stack_count; /* key stacks; rows are consecutive */
    const char *map, *other_map;      /* NULL: none */
};

static void check(struct fill *f, fw_error error)
{
    if (!error)
        return;
    fprintf(stderr, "fill: %s\n", f->why.message);
    exit(1);
}

static uint64_t next(struct fill *f)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    return f->random ^= f->random << 17;
}

static int64_t below(struct fill *f, int64_t limit)
{
    return (int64_t)(next(f) % (uint64_t)limit);
}

/* Mostly the first ones. */
static int64_t skewed(struct fill *f, int64_t limit)
{
    double x = (double)(next(f) >> 11) / 9007199254740992.0;
    return (int64_t)((double)limit * x * x * x);
}

static int64_t one(struct fill *f, const char *sql, const struct db_value *values, size_t count)
{
    struct db_rows *rows;
    check(f, db_query(f->conn, &rows, &f->why, sql, values, count));
    int64_t number = db_next(rows) ? db_get_int(rows, 0) : 0;
    check(f, db_end(rows, &f->why));
    return number;
}

static void run(struct fill *f, const char *sql, const struct db_value *values, size_t count)
{
    check(f, db_run(f->conn, &f->why, sql, values, count));
}

static void next_batch(struct fill *f)
{
    check(f, db_commit(f->conn, &f->why));
    check(f, db_begin(f->conn, &f->why));
}

/* --- what reports point at --- */

static int64_t fill_term(struct fill *f, int64_t kind, const char *format, int number)
{
    char text[64];
    snprintf(text, sizeof text, format, number);
    return one(f,
               "INSERT INTO term (kind, text) VALUES ($1, $2) ON CONFLICT (kind, text)"
               " DO UPDATE SET text = excluded.text RETURNING id",
               DB_VALUES(db_int(kind), db_text(text)));
}

static void fill_image(struct fill *f, int number)
{
    char name[64];
    uint8_t id[20];
    for (size_t i = 0; i < sizeof id; i++)
        id[i] = (uint8_t)next(f);
    snprintf(name, sizeof name, number ? "lib%02d.so" : "shop", number);
    f->images[number] =
        one(f, "INSERT INTO image (id_key, arch) VALUES ($1, 'x86_64') RETURNING id",
            DB_VALUES(db_bytes(id, sizeof id)));
    run(f,
        "INSERT INTO project_image (project, image, debug_id, name, path, has_map, own)"
        " VALUES ($6, $7, $1, $2, $3, $4, $5)",
        DB_VALUES(db_bytes(id, sizeof id), db_text(name), db_text("/opt/shop/lib"),
                  db_int(f->map != NULL), db_int(number < 5), db_int(f->project),
                  db_int(f->images[number])));
    if (f->map)
        run(f,
            "INSERT INTO symbol_file (debug_id, arch, kind, name, sha256, size, blob, map_blob,"
            " map_size, features, state, uploaded_ms, uploaded_by, used_ms)"
            " VALUES ($1, 'x86_64', 2, $2, $1, 1, '', $3, 1, '[]', 1, 0, 'fill', 0)",
            DB_VALUES(db_bytes(id, sizeof id), db_text(name),
                      db_text(number < 5 ? f->map : f->other_map)));
    for (int day = 0; day < DAYS; day++)
        run(f,
            "INSERT INTO image_day (project, image, day, reports, frames) VALUES ($1, $2, $3, 1, "
            "1)",
            DB_VALUES(db_int(f->project), db_int(f->images[number]), db_int(f->today - day)));
}

static void fill_names(struct fill *f)
{
    run(f,
        "INSERT INTO project (slug, name, created_ms) VALUES ('default', 'Default', 0)"
        " ON CONFLICT (slug) DO NOTHING",
        DB_NONE);
    f->project = one(f, "SELECT id FROM project WHERE slug = 'default'", DB_NONE);
    /* The groups are made up: no job shall make keys for their stacks. */
    char rules[16];
    snprintf(rules, sizeof rules, "%d", GROUP_BUILTIN_VERSION);
    run(f, "INSERT INTO setting (name, value) VALUES ('rules_builtin', $1)",
        DB_VALUES(db_text(rules)));
    for (int i = 0; i < IMAGES; i++)
        fill_image(f, i);
    for (int i = 0; i < VERSIONS; i++) {
        char version[16], build[16];
        snprintf(version, sizeof version, "2.%d", i);
        snprintf(build, sizeof build, "%d", 100 + i);
        f->versions[i] =
            one(f,
                "INSERT INTO version (project, version, build, first_ms, date_ms, last_ms)"
                " VALUES ($1, $2, $3, $4, $4, $4) RETURNING id",
                DB_VALUES(db_int(f->project), db_text(version), db_text(build),
                          db_int((f->today - DAYS + i * 4) * 86400000)));
    }
    for (int i = 0; i < SYSTEMS; i++)
        f->systems[i] = fill_term(f, 1, "Debian 12.%d", i);
    for (int i = 0; i < DEVICES; i++)
        f->devices[i] = fill_term(f, 2, "Till %d", i);
}

/* Stacks of one place share their outer half, and most of the inner one. */
static int64_t fill_stack(struct fill *f, int64_t place, int64_t variant, int64_t group)
{
    struct stack_frame frames[FRAMES];
    uint8_t code[FRAMES * STACK_CODE_FRAME_MAX], hash[16];
    for (int i = 0; i < FRAMES; i++) {
        uint64_t seed = (uint64_t)(i > FRAMES / 2 ? place % 50 : place) * 977 + (uint64_t)i * 31;
        seed += i < 4 ? (uint64_t)variant * 7919 : 0;
        seed *= 0x9e3779b97f4a7c15u;
        frames[i] = (struct stack_frame){
            .image = f->images[(seed >> 40) % IMAGES], .offset = (seed >> 7) % SPAN, .kind = i > 0};
    }
    size_t size = stack_encode(frames, FRAMES, code);
    for (size_t i = 0; i < sizeof hash; i++)
        hash[i] = (uint8_t)next(f);
    return one(f,
               "INSERT INTO stack (project, hash, frames, group_id, rules, named, last_ms)"
               " VALUES ($1, $2, $3, $4, 1, 1, $5) RETURNING id",
               DB_VALUES(db_int(f->project), db_bytes(hash, 16), db_bytes(code, size),
                         group ? db_int(group) : db_null(), db_int(f->today * 86400000)));
}

static int64_t fill_group(struct fill *f, int64_t place)
{
    static const char why[] =
        "{\"parts\":[\"cpu\",\"shop:load\"],\"frames\":[{\"frame\":0,\"function\":\"load\","
        "\"role\":\"app\",\"rule\":\"own symbols\",\"in_key\":true}]}";
    char title[64], file[64], search[4096];
    uint8_t key[16];
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)next(f);
    snprintf(title, sizeof title, "Shop::load_%" PRId64, place);
    snprintf(file, sizeof file, "src/load%" PRId64 ".cpp", place % 100);
    size_t size = (size_t)snprintf(search, sizeof search, "shop::load_%" PRId64 "\n", place);
    while (size < 1500)
        size += (size_t)snprintf(search + size, sizeof search - size, "shop::step_%" PRId64 "\n",
                                 below(f, 5000));
    return one(f,
               "INSERT INTO hang_group (project, key, rules, section, title, leaf, image, file,"
               " line, search, why, first_ms, last_ms, status)"
               " VALUES ($1, $2, 1, $3, $4, 'cpu', 'shop', $5, 17, $6, $7, 0, 0, $8) RETURNING id",
               DB_VALUES(db_int(f->project), db_bytes(key, 16), db_int(place % 10 == 9),
                         db_text(title), db_text(file), db_text(search), db_text(why),
                         db_int(place % 20 == 19)));
}

static void fill_places(struct fill *f, int64_t *keys, int64_t *groups, int64_t variants)
{
    for (int64_t place = 0; place < f->groups; place++) {
        int64_t group = groups[place] = fill_group(f, place);
        for (int64_t i = 0; i < variants; i++) {
            int64_t key = keys[place * variants + i] = fill_stack(f, place, i, group);
            if (!i)
                run(f, "UPDATE hang_group SET sample_stack = $1 WHERE id = $2",
                    DB_VALUES(db_int(key), db_int(group)));
            for (int64_t j = 0; j < 3; j++)
                run(f,
                    "INSERT INTO flame (key_stack, stack, weight_ns, samples)"
                    " VALUES ($1, $2, $3, 40) ON CONFLICT DO NOTHING",
                    DB_VALUES(db_int(key),
                              db_int(j ? fill_stack(f, place, i * 3 + j + 100, 0) : key),
                              db_int((4 - j) * 900000000)));
        }
        if (place % 20 == 19)
            next_batch(f);
    }
}

/* --- reports --- */

static void fill_report(struct fill *f, int64_t number, const int64_t *keys, const int64_t *groups,
                        int64_t variants)
{
    uint8_t id[16], install[16] = {0};
    for (size_t i = 0; i < sizeof id; i++)
        id[i] = (uint8_t)next(f);
    int64_t age = DAYS - 1 - number * DAYS / f->reports, day = f->today - age;
    int64_t newest = (DAYS - 1 - age) / 4, version = newest - skewed(f, newest + 1);
    int64_t place = skewed(f, f->groups), install_number = below(f, 20000);
    memcpy(install, &install_number, sizeof install_number);
    double spread = (double)(below(f, 1000000) + 1) / 1000001.0;
    int64_t duration = (int64_t)(250e6 / pow(spread, 0.8));
    if (duration > INT64_C(60000000000))
        duration = INT64_C(60000000000);
    int64_t at = day * 86400000 + below(f, 86400000);
    run(f,
        "INSERT INTO report (project, report_id, kind, received_ms, started_ms, day, version, os,"
        " device, session, install, stack, group_id, duration_ns, ending, threads, frames,"
        " complete) VALUES ($1, $2, 1, $3, $3, $4, $5, $6, $7, $2, $8, $9, $10, $11, $12, 20, 600,"
        " 1)",
        DB_VALUES(db_int(f->project), db_bytes(id, 16), db_int(at), db_int(day),
                  db_int(f->versions[version < VERSIONS ? version : VERSIONS - 1]),
                  db_int(f->systems[skewed(f, SYSTEMS)]), db_int(f->devices[below(f, DEVICES)]),
                  db_bytes(install, 16), db_int(keys[place * variants + below(f, variants)]),
                  db_int(groups[place]), db_int(duration), db_int(below(f, 50) ? 1 : 2)));
}

static void fill_calls(struct fill *f)
{
    for (int i = 0; i < APIS; i++) {
        int64_t api = fill_term(f, 3, "watched_%d", i);
        for (int64_t caller = 0; caller < CALLERS; caller++) {
            int64_t image = f->images[caller % IMAGES], offset = caller * 7919 * 13 % SPAN;
            for (int64_t j = 0; j < CALL_STACKS; j++) {
                int64_t stack = fill_stack(f, 100000 + i * 1000 + caller, j, 0);
                for (int version = (int)(caller % 3); version < VERSIONS; version++)
                    run(f,
                        "INSERT INTO call (project, api, stack, version, count, first_ms, last_ms,"
                        " caller_image, caller_offset, caller_kind)"
                        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1)",
                        DB_VALUES(db_int(f->project), db_int(api), db_int(stack),
                                  db_int(f->versions[version]), db_int(1 + below(f, 100)),
                                  db_int((f->today - 20) * 86400000), db_int(f->today * 86400000),
                                  db_int(image), db_int(offset)));
            }
        }
        next_batch(f);
    }
}

/* --- sums --- */

#define SLOW(low, high)                                                                            \
    "SUM(CASE WHEN duration_ns >= " low " AND duration_ns < " high " THEN 1 ELSE 0 END)"
#define CLASSES                                                                                    \
    SLOW("0", "500000000")                                                                         \
    ", " SLOW("500000000", "2000000000") ", " SLOW("2000000000", "8000000000") ", " SLOW(          \
        "8000000000", "9000000000000000000")
#define KILLED "SUM(CASE WHEN ending = 2 THEN 1 ELSE 0 END)"

static void fill_sums(struct fill *f)
{
    run(f,
        "INSERT INTO group_day (group_id, day, version, reports, blocked_ns, killed, longest_ns,"
        " first_ms, last_ms) SELECT group_id, day, version, COUNT(*), SUM(duration_ns), " KILLED
        ", MAX(duration_ns), MIN(started_ms), MAX(started_ms) FROM report GROUP BY group_id, day, "
        "version",
        DB_NONE);
    run(f,
        "INSERT INTO group_term (group_id, term, reports, blocked_ns) SELECT group_id, os, "
        "COUNT(*),"
        " SUM(duration_ns) FROM report GROUP BY group_id, os",
        DB_NONE);
    run(f,
        "INSERT INTO group_term (group_id, term, reports, blocked_ns) SELECT group_id, device,"
        " COUNT(*), SUM(duration_ns) FROM report GROUP BY group_id, device",
        DB_NONE);
    run(f,
        "INSERT INTO project_day (project, day, version, reports, blocked_ns, killed, slow0, slow1,"
        " slow2, slow3, sessions, observed_ns) SELECT project, day, version, COUNT(*),"
        " SUM(duration_ns), " KILLED ", " CLASSES ", COUNT(*), COUNT(*) * 3600000000000"
        " FROM report GROUP BY project, day, version",
        DB_NONE);
    run(f,
        "INSERT INTO term_day (project, term, day, version, reports, blocked_ns, killed, slow0,"
        " slow1, slow2, slow3) SELECT project, os, day, version, COUNT(*), "
        "SUM(duration_ns), " KILLED ", " CLASSES " FROM report GROUP BY project, os, day, version",
        DB_NONE);
    run(f,
        "INSERT INTO term_day (project, term, day, version, reports, blocked_ns, killed, slow0,"
        " slow1, slow2, slow3) SELECT project, device, day, version, COUNT(*), "
        "SUM(duration_ns), " KILLED ", " CLASSES
        " FROM report GROUP BY project, device, day, version",
        DB_NONE);
    run(f,
        "INSERT INTO group_install (group_id, install, reports, last_day) SELECT group_id, install,"
        " COUNT(*), MAX(day) FROM report GROUP BY group_id, install",
        DB_NONE);
    run(f,
        "INSERT INTO call_site (project, api, image, site_offset, kind) SELECT DISTINCT project,"
        " api, caller_image, caller_offset, caller_kind FROM call",
        DB_NONE);
    run(f,
        "INSERT INTO call_day (project, version, site, day, count) SELECT c.project, c.version,"
        " s.id, c.last_ms / 86400000, CAST(SUM(c.count) AS BIGINT) FROM call c JOIN call_site s"
        " ON s.project = c.project AND s.api = c.api AND s.image = c.caller_image"
        " AND s.site_offset = c.caller_offset AND s.kind = c.caller_kind"
        " GROUP BY c.project, c.version, s.id, c.last_ms / 86400000",
        DB_NONE);
    run(f,
        "INSERT INTO job (kind, subject, payload, state, run_ms, created_ms, changed_ms)"
        " VALUES ('calls', '', '', 0, 0, 0, 0)",
        DB_NONE);
    run(f,
        "UPDATE hang_group SET reports = s.n, blocked_ns = s.b, longest_ns = s.l, killed = s.k,"
        " first_ms = s.f, last_ms = s.t, first_version = s.v, last_version = s.w, installs = s.n"
        " FROM (SELECT group_id, COUNT(*) AS n, SUM(duration_ns) AS b, MAX(duration_ns) AS "
        "l, " KILLED " AS k, MIN(received_ms) AS f, MAX(received_ms) AS t, MIN(version) AS v,"
        " MAX(version) AS w FROM report GROUP BY group_id) s WHERE hang_group.id = s.group_id",
        DB_NONE);
}

int main(int argc, char **argv)
{
    struct fill f = {.random = 88172645463325252u};
    struct db *db;
    if (argc < 4) {
        fputs("usage: fill URL REPORTS GROUPS [MAP_BLOB OTHER_BLOB]\n", stderr);
        return 2;
    }
    f.reports = atoll(argv[2]);
    f.groups = atoll(argv[3]);
    f.map = argc > 5 ? argv[4] : NULL;
    f.other_map = f.map ? argv[5] : NULL;
    f.today = (int64_t)(time(NULL) / 86400);
    if (f.reports < 1 || f.groups < 1)
        return 2;
    int64_t variants = 1 + f.reports / f.groups / 15;
    int64_t *keys = calloc((size_t)(f.groups * variants), sizeof *keys);
    int64_t *groups = calloc((size_t)f.groups, sizeof *groups);
    if (!keys || !groups)
        return 1;
    check(&f, db_open(argv[1], &db, &f.why));
    check(&f, db_take(db, DB_WRITE, &f.conn, &f.why));
    check(&f, db_begin(f.conn, &f.why));
    fill_names(&f);
    fill_places(&f, keys, groups, variants);
    for (int64_t i = 0; i < f.reports; i++) {
        fill_report(&f, i, keys, groups, variants);
        if (i % BATCH == BATCH - 1)
            next_batch(&f);
    }
    fill_calls(&f);
    fill_sums(&f);
    check(&f, db_commit(f.conn, &f.why));
    db_give(db, f.conn);
    db_close(db);
    free(keys);
    free(groups);
    return 0;
}
