/*
 * The tables of the collector. {ID}, {BLOB}, {CLUSTERED}: db.h.
 *
 * Reports keep raw (image, offset) stacks; names are looked up when somebody looks, and only what a
 * group is called is kept. So a debug file that comes late changes stack.group_id and
 * report.group_id, and the sums are made anew from `report`: nothing is named twice.
 */
#include "collector/schema.h"

static const char tables[] =
    /* Names and numbers of the server itself: "generation" (counts up when groups or rules change:
     * caches of stacks are void), "salt", "retention"... */
    "CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);\n"
    "CREATE TABLE project (id {ID}, slug TEXT NOT NULL UNIQUE, name TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL, settings TEXT NOT NULL DEFAULT '{}');\n"
    /* kind: enum access_kind. hash: SHA-256 of the secret. parent: the token of a session. */
    "CREATE TABLE access_key (id {ID}, kind INTEGER NOT NULL, hash {BLOB} NOT NULL UNIQUE,"
    " project INTEGER, scopes INTEGER NOT NULL, label TEXT NOT NULL, parent INTEGER,"
    " csrf TEXT, created_ms INTEGER NOT NULL, expires_ms INTEGER, used_ms INTEGER,"
    " revoked_ms INTEGER);\n"
    "CREATE TABLE audit (id {ID}, at_ms INTEGER NOT NULL, who INTEGER, label TEXT NOT NULL,"
    " action TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL);\n"

    /* Acknowledged, and not in a pack yet. state: 0 waiting, 1 failed (kept for people to look at;
     * error says why), 2 processed (in `report`), the body waits for its pack. size: of the body as
     * it was sent; packed: of inbox_body.body. lease_ms: a worker has it until then. */
    "CREATE TABLE inbox (seq {ID}, project INTEGER NOT NULL, report_id {BLOB} NOT NULL,"
    " received_ms INTEGER NOT NULL, size INTEGER NOT NULL, packed INTEGER NOT NULL,"
    " state INTEGER NOT NULL DEFAULT 0, lease_ms INTEGER NOT NULL DEFAULT 0,"
    " attempts INTEGER NOT NULL DEFAULT 0, error TEXT);\n"
    "CREATE INDEX inbox_waiting ON inbox (state, seq);\n"
    /* Apart, so that what happens to a row of `inbox` does not write its body again. body: zstd. */
    "CREATE TABLE inbox_body (seq INTEGER PRIMARY KEY, body {BLOB} NOT NULL);\n"
    /* Every id that was ever accepted and must be known: at least 90 days. The one place that makes
     * a report exist once. */
    "CREATE TABLE seen (project INTEGER NOT NULL, report_id {BLOB} NOT NULL,"
    " received_ms INTEGER NOT NULL, PRIMARY KEY (project, report_id)) {CLUSTERED};\n"

    /* id_key: the build id or UUID; without one 'name:' and the file name. has_map: names are to be
     * had; map_ms: since when. */
    "CREATE TABLE image (id {ID}, id_key {BLOB} NOT NULL, arch TEXT NOT NULL, debug_id {BLOB} NOT "
    "NULL,"
    " name TEXT NOT NULL, path TEXT, has_map INTEGER NOT NULL DEFAULT 0, map_ms INTEGER,"
    " own INTEGER NOT NULL DEFAULT 0, UNIQUE (id_key, arch));\n"
    "CREATE TABLE image_day (project INTEGER NOT NULL, image INTEGER NOT NULL, day INTEGER NOT "
    "NULL,"
    " reports INTEGER NOT NULL, frames INTEGER NOT NULL, PRIMARY KEY (project, day, image)) "
    "{CLUSTERED};\n"
    "CREATE INDEX image_day_image ON image_day (image);\n"

    "CREATE TABLE version (id {ID}, project INTEGER NOT NULL, version TEXT NOT NULL,"
    " build TEXT NOT NULL, first_ms INTEGER NOT NULL, UNIQUE (project, version, build));\n"
    /* kind: 1 operating system, 2 device, 3 watched API */
    "CREATE TABLE term (id {ID}, kind INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE (kind, text));\n"

    /* How many rows of a kind (enum limit_of) the reports of a project brought. */
    "CREATE TABLE made (project INTEGER NOT NULL, kind INTEGER NOT NULL, made INTEGER NOT NULL,"
    " PRIMARY KEY (project, kind)) {CLUSTERED};\n"

    /* A distinct stack of a project. hash: of its frames. frames: stack_code.h. group_id: of stacks
     * that reports are grouped by; NULL: of others. named: keys were made with names of all its
     * images; 0: a debug file may change the key. main_image: the executable of the first report
     * that was grouped by it. pinned: enum group_pinned (groups.h): it stays in its group.
     * moving: reports are left in the group that it was in before (groups_move.h). */
    "CREATE TABLE stack (id {ID}, project INTEGER NOT NULL, hash {BLOB} NOT NULL,"
    " frames {BLOB} NOT NULL, main_image INTEGER, group_id INTEGER, rules INTEGER NOT NULL DEFAULT "
    "0,"
    " named INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0,"
    " last_ms INTEGER NOT NULL, moving INTEGER NOT NULL DEFAULT 0, UNIQUE (project, hash));\n"
    "CREATE INDEX stack_group ON stack (group_id, id);\n"
    "CREATE INDEX stack_moving ON stack (id) WHERE moving <> 0;\n"
    /* Which stacks name an image; of stacks that reports are grouped by alone. */
    "CREATE TABLE stack_image (image INTEGER NOT NULL, stack INTEGER NOT NULL,"
    " PRIMARY KEY (image, stack)) {CLUSTERED};\n"

    /* Names that reports brought: brought_names.h. image 0: none. flags: stack_code.h. number: 0
     * for the innermost function at the place. name_flags: of report_name. */
    "CREATE TABLE brought_name (project INTEGER NOT NULL, image INTEGER NOT NULL,"
    " frame_offset INTEGER NOT NULL, flags INTEGER NOT NULL, number INTEGER NOT NULL,"
    " function TEXT NOT NULL, file TEXT, line INTEGER NOT NULL, name_flags INTEGER NOT NULL,"
    " PRIMARY KEY (project, image, frame_offset, flags, number)) {CLUSTERED};\n"

    /* status: 0 open, 1 ignored, 2 resolved, 3 merged into `merged_into`. section: enum
     * group_section. pinned: somebody merged or split by hand, rules leave it alone. The long texts
     * stand last: rows are ranked without reading them. moving: enum group_moving (groups.h). */
    "CREATE TABLE hang_group (id {ID}, project INTEGER NOT NULL, key {BLOB} NOT NULL,"
    " rules INTEGER NOT NULL, section INTEGER NOT NULL, title TEXT NOT NULL, leaf TEXT NOT NULL,"
    " image TEXT NOT NULL, file TEXT, line INTEGER NOT NULL,"
    " sample_stack INTEGER, status INTEGER NOT NULL DEFAULT 0, resolved_version INTEGER,"
    " merged_into INTEGER, pinned INTEGER NOT NULL DEFAULT 0, note TEXT NOT NULL DEFAULT '',"
    " first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, first_version INTEGER, last_version "
    "INTEGER,"
    " reopened_ms INTEGER, reports INTEGER NOT NULL DEFAULT 0, blocked_ns INTEGER NOT NULL DEFAULT "
    "0,"
    " longest_ns INTEGER NOT NULL DEFAULT 0, killed INTEGER NOT NULL DEFAULT 0,"
    " installs INTEGER NOT NULL DEFAULT 0, moving INTEGER NOT NULL DEFAULT 0, search TEXT NOT "
    "NULL, why TEXT NOT NULL,"
    " UNIQUE (project, key));\n"
    "CREATE INDEX hang_group_moving ON hang_group (id) WHERE moving <> 0;\n"
    "CREATE INDEX hang_group_merged ON hang_group (merged_into) WHERE merged_into IS NOT NULL;\n"
    "CREATE TABLE group_day (group_id INTEGER NOT NULL, day INTEGER NOT NULL, version INTEGER NOT "
    "NULL,"
    " reports INTEGER NOT NULL, blocked_ns INTEGER NOT NULL, killed INTEGER NOT NULL,"
    " PRIMARY KEY (group_id, day, version)) {CLUSTERED};\n"
    /* term: of kind 1 or 2 */
    "CREATE TABLE group_term (group_id INTEGER NOT NULL, term INTEGER NOT NULL,"
    " reports INTEGER NOT NULL, blocked_ns INTEGER NOT NULL, PRIMARY KEY (group_id, term)) "
    "{CLUSTERED};\n"
    "CREATE TABLE group_install (group_id INTEGER NOT NULL, install {BLOB} NOT NULL,"
    " reports INTEGER NOT NULL, PRIMARY KEY (group_id, install)) {CLUSTERED};\n"

    /* kind: enum fwr_kind, or 100 + enum report_kind for other tools' reports. install: hash of the
     * installation's id with the salt; NULL: it told none. stack: the heaviest, by which it is
     * grouped; NULL: none (calls, snapshots). pack NULL: the body is gone, or still in the inbox.
     * day: days since 1970 of `started_ms` (received_ms when that is not to be believed). */
    "CREATE TABLE report (id {ID}, project INTEGER NOT NULL, report_id {BLOB} NOT NULL,"
    " kind INTEGER NOT NULL, received_ms INTEGER NOT NULL, started_ms INTEGER NOT NULL,"
    " day INTEGER NOT NULL, version INTEGER NOT NULL, os INTEGER, device INTEGER, session {BLOB},"
    " install {BLOB}, stack INTEGER, group_id INTEGER, duration_ns INTEGER NOT NULL,"
    " ending INTEGER NOT NULL, threads INTEGER NOT NULL, frames INTEGER NOT NULL,"
    " complete INTEGER NOT NULL, pack INTEGER, body_offset INTEGER, body_size INTEGER,"
    " UNIQUE (project, report_id));\n"
    /* The first three, and report_recent, hold all by which reports are chosen and summed, so that
     * no row is fetched for that. */
    "CREATE INDEX report_group ON report (group_id, received_ms, id, duration_ns, version, os,"
    " device, ending, stack);\n"
    "CREATE INDEX report_os ON report (project, os, day, group_id, version, device, duration_ns,"
    " ending);\n"
    "CREATE INDEX report_device ON report (project, device, day, group_id, version, os,"
    " duration_ns, ending);\n"
    "CREATE INDEX report_stack ON report (stack, id);\n"
    "CREATE INDEX report_recent ON report (project, received_ms, id, version, os, device);\n"
    "CREATE INDEX report_install ON report (install);\n"
    "CREATE INDEX report_pack ON report (pack);\n"
    /* What was seen while a report's thread hung: weights by the stack that the report is grouped
     * by, so that regrouping moves nothing here. */
    "CREATE TABLE flame (key_stack INTEGER NOT NULL, stack INTEGER NOT NULL,"
    " weight_ns INTEGER NOT NULL, samples INTEGER NOT NULL, PRIMARY KEY (key_stack, stack)) "
    "{CLUSTERED};\n"
    /* slow: durations by class: below 0.5 s, 2 s, 8 s, and above. observed_ns: see session. */
    "CREATE TABLE project_day (project INTEGER NOT NULL, day INTEGER NOT NULL, version INTEGER NOT "
    "NULL,"
    " reports INTEGER NOT NULL, blocked_ns INTEGER NOT NULL, killed INTEGER NOT NULL,"
    " slow0 INTEGER NOT NULL, slow1 INTEGER NOT NULL, slow2 INTEGER NOT NULL, slow3 INTEGER NOT "
    "NULL,"
    " sessions INTEGER NOT NULL, observed_ns INTEGER NOT NULL, PRIMARY KEY (project, day, "
    "version)) {CLUSTERED};\n"
    /* The same by operating system and by device (terms of kind 1 and 2). */
    "CREATE TABLE term_day (project INTEGER NOT NULL, term INTEGER NOT NULL, day INTEGER NOT NULL,"
    " version INTEGER NOT NULL, reports INTEGER NOT NULL, blocked_ns INTEGER NOT NULL,"
    " killed INTEGER NOT NULL, slow0 INTEGER NOT NULL, slow1 INTEGER NOT NULL,"
    " slow2 INTEGER NOT NULL, slow3 INTEGER NOT NULL,"
    " PRIMARY KEY (project, day, term, version)) {CLUSTERED};\n"
    /* A process that sent something; observed_ns: how long it is known to have run. */
    "CREATE TABLE session (project INTEGER NOT NULL, session {BLOB} NOT NULL, version INTEGER NOT "
    "NULL,"
    " day INTEGER NOT NULL, observed_ns INTEGER NOT NULL, PRIMARY KEY (project, session)) "
    "{CLUSTERED};\n"

    /* Who called watched functions. caller_image, caller_offset, caller_kind: frame 0 of the stack
     * (row of `image`, 0: none; the offset there; its flags, stack_code.h),
     * so that the callers are told apart without reading stacks. */
    "CREATE TABLE call (project INTEGER NOT NULL, api INTEGER NOT NULL, stack INTEGER NOT NULL,"
    " version INTEGER NOT NULL, count INTEGER NOT NULL, first_ms INTEGER NOT NULL,"
    " last_ms INTEGER NOT NULL, caller_image INTEGER NOT NULL, caller_offset INTEGER NOT NULL,"
    " caller_kind INTEGER NOT NULL, PRIMARY KEY (project, api, stack, version)) {CLUSTERED};\n"
    /* Callers that may: both are patterns with * and ?. */
    "CREATE TABLE call_allow (id {ID}, project INTEGER NOT NULL, api TEXT NOT NULL,"
    " caller TEXT NOT NULL, note TEXT NOT NULL, created_ms INTEGER NOT NULL, created_by TEXT NOT "
    "NULL);\n"
    /* Versions of grouping rules; the highest is the one in force. */
    "CREATE TABLE rules (project INTEGER NOT NULL, version INTEGER NOT NULL, text TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL, created_by TEXT NOT NULL, PRIMARY KEY (project, version));\n"

    "CREATE TABLE pack (id {ID}, key TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,"
    " created_ms INTEGER NOT NULL);\n"
    /* kind: 1 executable, 2 debug information, 3 a map as it came (GSYM, Breakpad, ours), 4 sources
     * (source_store.h; never state 1; features: how many). state: 1 its map is the one in use (one
     * of an id and architecture), 0 stored beside it, 2 cannot be used (message says why).
     * features: words with commas between (debug_file.h). */
    "CREATE TABLE symbol_file (id {ID}, debug_id {BLOB} NOT NULL, arch TEXT NOT NULL,"
    " kind INTEGER NOT NULL, name TEXT NOT NULL, sha256 {BLOB} NOT NULL, size INTEGER NOT NULL,"
    " blob TEXT NOT NULL, map_blob TEXT, map_size INTEGER, features TEXT NOT NULL,"
    " state INTEGER NOT NULL, message TEXT NOT NULL DEFAULT '', uploaded_ms INTEGER NOT NULL,"
    " uploaded_by TEXT NOT NULL, used_ms INTEGER NOT NULL, UNIQUE (debug_id, arch, kind, "
    "sha256));\n"
    "CREATE INDEX symbol_file_map ON symbol_file (debug_id, state);\n"
    "CREATE INDEX symbol_file_sha256 ON symbol_file (sha256);\n"
    /* state: 0 being sent, 1 whole (a job converts it), 2 done, 3 failed. */
    "CREATE TABLE upload (id TEXT PRIMARY KEY, name TEXT NOT NULL, size INTEGER NOT NULL,"
    " sha256 {BLOB}, received INTEGER NOT NULL, state INTEGER NOT NULL, message TEXT NOT NULL,"
    " result TEXT NOT NULL DEFAULT '[]', created_ms INTEGER NOT NULL, changed_ms INTEGER NOT NULL,"
    " created_by TEXT NOT NULL);\n"
    "CREATE INDEX upload_sha256 ON upload (sha256);\n"
    "CREATE TABLE upload_part (upload TEXT NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL,"
    " blob TEXT NOT NULL, PRIMARY KEY (upload, start));\n"
    /* state: 0 queued, 1 running, 3 failed (kept for people); done ones are deleted. run_ms: not
     * before. lost: how often a server ended while it ran the job. */
    "CREATE TABLE job (id {ID}, kind TEXT NOT NULL, subject TEXT NOT NULL, payload TEXT NOT NULL,"
    " state INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, run_ms INTEGER NOT NULL,"
    " lease_ms INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL DEFAULT '',"
    " lost INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL "
    "DEFAULT 0,"
    " message TEXT NOT NULL DEFAULT '', created_ms INTEGER NOT NULL, changed_ms INTEGER NOT "
    "NULL);\n"
    "CREATE UNIQUE INDEX job_queued ON job (kind, subject) WHERE state = 0;\n"
    "CREATE INDEX job_next ON job (state, run_ms);\n";

/* owner: whose upload it is (row of access_key); 0: of before this, which nobody can continue.
 * last_ms: when a report last had the name. */
static const char owned_uploads[] =
    "ALTER TABLE upload ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;\n"
    "CREATE INDEX upload_open ON upload (owner) WHERE state = 0;\n"
    "ALTER TABLE brought_name ADD COLUMN last_ms INTEGER NOT NULL DEFAULT 0;\n"
    "UPDATE brought_name SET last_ms = (SELECT COALESCE(MAX(report.received_ms), 0) FROM report"
    " WHERE report.project = brought_name.project);\n"
    "INSERT INTO made (project, kind, made) SELECT project, 8, COUNT(*) FROM brought_name"
    " GROUP BY project;\n"; /* 8: LIMIT_NAME */

const struct schema_migration schema_migrations[] = {{tables}, {owned_uploads}};
const size_t schema_version = sizeof schema_migrations / sizeof *schema_migrations;
