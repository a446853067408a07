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
     * moving (below): reports are left in the group that it was in before (groups_move.h). */
    "CREATE TABLE stack (id {ID}, project INTEGER NOT NULL, hash {BLOB} NOT NULL,"
    " frames {BLOB} NOT NULL, main_image INTEGER, group_id INTEGER, rules INTEGER NOT NULL DEFAULT "
    "0,"
    " named INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0,"
    " last_ms INTEGER NOT NULL, UNIQUE (project, hash));\n"
    "CREATE INDEX stack_group ON stack (group_id);\n"
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
    "CREATE INDEX report_stack ON report (stack);\n"
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

/* Stacks and their reports are moved between groups in portions. */
static const char moving_stacks[] =
    "ALTER TABLE stack ADD COLUMN moving INTEGER NOT NULL DEFAULT 0;\n"
    "DROP INDEX stack_group;\n"
    "CREATE INDEX stack_group ON stack (group_id, id);\n"
    "CREATE INDEX stack_moving ON stack (id) WHERE moving <> 0;\n"
    "DROP INDEX report_stack;\n"
    "CREATE INDEX report_stack ON report (stack, id);\n";

/* What a project sent is its own. `image` is left with what makes an image one; what a project's
 * reports say of it (name, path), and whether the project may use a map of it, is in project_image.
 * symbol_file.project, upload.project: whose it is; 0: shared with all projects.
 *
 * Files of before belong to the project of who sent them: by the upload that the end of the blob's
 * key names, else by the label, when all keys of that label are of one project; else they are
 * shared. Images whose maps are another project's now lose their names: jobs see to the groups. */
static const char owners[] =
    "ALTER TABLE upload ADD COLUMN project INTEGER NOT NULL DEFAULT 0;\n"
    "UPDATE upload SET project = COALESCE((SELECT k.project FROM access_key k WHERE k.id ="
    " upload.owner), 0);\n"
    "ALTER TABLE symbol_file RENAME TO symbol_file_before;\n"
    "DROP INDEX symbol_file_map;\n"
    "DROP INDEX symbol_file_sha256;\n"
    "CREATE TABLE symbol_file (id {ID}, project INTEGER NOT NULL DEFAULT 0, debug_id {BLOB} NOT"
    " NULL, arch TEXT NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL, sha256 {BLOB} NOT NULL,"
    " size INTEGER NOT NULL, blob TEXT NOT NULL, map_blob TEXT, map_size INTEGER, features TEXT NOT"
    " NULL, state INTEGER NOT NULL, message TEXT NOT NULL DEFAULT '', uploaded_ms INTEGER NOT NULL,"
    " uploaded_by TEXT NOT NULL, used_ms INTEGER NOT NULL, UNIQUE (debug_id, project, arch, kind,"
    " sha256));\n"
    "CREATE INDEX symbol_file_map ON symbol_file (debug_id, state);\n"
    "CREATE INDEX symbol_file_sha256 ON symbol_file (sha256);\n"
    "INSERT INTO symbol_file (project, debug_id, arch, kind, name, sha256, size, blob, map_blob,"
    " map_size, features, state, message, uploaded_ms, uploaded_by, used_ms)"
    " SELECT COALESCE("
    "(SELECT MAX(u.project) FROM upload u WHERE u.owner <> 0"
    " AND u.id >= substr(b.blob, length(b.blob) - 7, 8)"
    " AND u.id < substr(b.blob, length(b.blob) - 7, 8) || 'g'),"
    " (SELECT CASE WHEN COUNT(DISTINCT COALESCE(k.project, 0)) = 1 THEN MAX(COALESCE(k.project, 0))"
    " END FROM access_key k WHERE k.label = b.uploaded_by AND k.kind IN (2, 3)), 0),"
    " b.debug_id, b.arch, b.kind, b.name, b.sha256, b.size, b.blob, b.map_blob, b.map_size,"
    " b.features, b.state, b.message, b.uploaded_ms, b.uploaded_by, b.used_ms"
    " FROM symbol_file_before b ORDER BY b.id;\n"
    "DROP TABLE symbol_file_before;\n"
    "UPDATE symbol_file SET state = CASE WHEN id = (SELECT f.id FROM symbol_file f WHERE f.debug_id"
    " = symbol_file.debug_id AND f.project = symbol_file.project AND f.arch = symbol_file.arch AND"
    " f.map_blob IS NOT NULL ORDER BY CASE WHEN f.features LIKE '%debug_info%' AND f.features NOT"
    " LIKE '%split%' THEN 4 WHEN f.kind = 3 THEN 3 WHEN f.features LIKE '%debug_info%' THEN 2 WHEN"
    " f.features LIKE '%symtab%' THEN 1 ELSE 0 END DESC, f.id DESC LIMIT 1) THEN 1 ELSE 0 END"
    " WHERE map_blob IS NOT NULL;\n"
    /* debug_id: empty for an image without one. has_map, own, map_ms: as of `image` before. */
    "CREATE TABLE project_image (id {ID}, project INTEGER NOT NULL, image INTEGER NOT NULL,"
    " debug_id {BLOB} NOT NULL, name TEXT NOT NULL, path TEXT, has_map INTEGER NOT NULL DEFAULT 0,"
    " own INTEGER NOT NULL DEFAULT 0, map_ms INTEGER, UNIQUE (image, project));\n"
    "CREATE INDEX project_image_debug_id ON project_image (debug_id);\n"
    "INSERT INTO project_image (project, image, debug_id, name, path, has_map, own, map_ms)"
    " SELECT u.project, i.id, i.debug_id, i.name, i.path,"
    " CASE WHEN EXISTS (SELECT 1 FROM symbol_file f WHERE f.debug_id = i.debug_id AND f.state = 1"
    " AND f.project IN (0, u.project)) THEN 1 ELSE 0 END,"
    " CASE WHEN EXISTS (SELECT 1 FROM symbol_file f WHERE f.debug_id = i.debug_id AND f.state = 1"
    " AND f.project IN (0, u.project)) THEN 1 ELSE 0 END, i.map_ms"
    " FROM (SELECT project, image FROM image_day"
    " UNION SELECT s.project, k.image FROM stack_image k JOIN stack s ON s.id = k.stack"
    " UNION SELECT project, main_image FROM stack WHERE main_image IS NOT NULL"
    " UNION SELECT project, image FROM brought_name"
    " UNION SELECT project, caller_image FROM call) u"
    " JOIN image i ON i.id = u.image ORDER BY i.id, u.project;\n"
    "INSERT INTO job (kind, subject, payload, state, run_ms, created_ms, changed_ms)"
    " SELECT DISTINCT 'names', '' || i.id, '', 0, 0, 0, 0 FROM image i JOIN project_image p"
    " ON p.image = i.id WHERE i.has_map = 1 AND p.has_map = 0 AND NOT EXISTS (SELECT 1 FROM job j"
    " WHERE j.kind = 'names' AND j.subject = '' || i.id AND j.state = 0);\n"
    "ALTER TABLE image DROP COLUMN debug_id;\n"
    "ALTER TABLE image DROP COLUMN name;\n"
    "ALTER TABLE image DROP COLUMN path;\n"
    "ALTER TABLE image DROP COLUMN has_map;\n"
    "ALTER TABLE image DROP COLUMN map_ms;\n"
    "ALTER TABLE image DROP COLUMN own;\n"
    "UPDATE made SET made = (SELECT COUNT(*) FROM project_image p WHERE p.project = made.project)"
    " WHERE kind = 5;\n"; /* 5: LIMIT_IMAGE */

/* The order of versions (version_store.h). sort_key: version_order; NULL: it has to be made.
 * prerelease: what prerelease_set says, else its text. released_ms: when somebody says that it came
 * out; date_ms: that, or as far as it was found out. */
static const char ordered_versions[] =
    "ALTER TABLE version ADD COLUMN numbered INTEGER NOT NULL DEFAULT 0;\n"
    "ALTER TABLE version ADD COLUMN line TEXT NOT NULL DEFAULT '';\n"
    "ALTER TABLE version ADD COLUMN sort_key {BLOB};\n"
    "ALTER TABLE version ADD COLUMN prerelease INTEGER NOT NULL DEFAULT 0;\n"
    "ALTER TABLE version ADD COLUMN prerelease_set INTEGER;\n"
    "ALTER TABLE version ADD COLUMN released_ms INTEGER;\n"
    "ALTER TABLE version ADD COLUMN date_ms INTEGER NOT NULL DEFAULT 0;\n"
    "UPDATE version SET date_ms = first_ms;\n"
    "CREATE INDEX version_order ON version (project, numbered, line, sort_key);\n"
    "CREATE INDEX version_date ON version (project, numbered, line, date_ms);\n";

/* In what a resolved group is fixed (groups_fixed.h): in fixed_version (fixed_build '': all its
 * builds) and whatever is later, or with fixed_after in what is later than it alone, as "resolved"
 * meant before. And what became of each group: by whom ('': the server itself). */
static const char fixed_groups[] =
    "ALTER TABLE hang_group ADD COLUMN fixed_version TEXT;\n"
    "ALTER TABLE hang_group ADD COLUMN fixed_build TEXT NOT NULL DEFAULT '';\n"
    "ALTER TABLE hang_group ADD COLUMN fixed_after INTEGER NOT NULL DEFAULT 0;\n"
    "UPDATE hang_group SET fixed_after = 1,"
    " fixed_version = (SELECT v.version FROM version v WHERE v.id = resolved_version),"
    " fixed_build = COALESCE((SELECT v.build FROM version v WHERE v.id = resolved_version), '')"
    " WHERE resolved_version IS NOT NULL;\n"
    "ALTER TABLE hang_group DROP COLUMN resolved_version;\n"
    "CREATE TABLE group_event (id {ID}, project INTEGER NOT NULL, group_id INTEGER NOT NULL,"
    " at_ms INTEGER NOT NULL, who TEXT NOT NULL, action TEXT NOT NULL, detail TEXT NOT NULL);\n"
    "CREATE INDEX group_event_group ON group_event (group_id, id);\n";

/* Numbers of some reports of a group, whatever the filter: report_scope holds all that they are
 * made of. last_day: the last that the installation has a report of in the group. */
static const char scoped_numbers[] =
    "DROP INDEX report_group;\n"
    "CREATE INDEX report_group ON report (group_id, received_ms, id, day, version, os, device);\n"
    "CREATE INDEX report_scope ON report (group_id, day, version, os, device, install,"
    " duration_ns, started_ms, stack, ending);\n"
    "DROP INDEX report_recent;\n"
    "CREATE INDEX report_recent ON report (project, received_ms, id, day, version, os, device);\n"
    "ALTER TABLE group_install ADD COLUMN last_day INTEGER NOT NULL DEFAULT 0;\n"
    "UPDATE group_install SET last_day = s.last_day FROM (SELECT r.group_id, r.install,"
    " MAX(r.day) AS last_day FROM report r WHERE r.group_id IS NOT NULL AND r.install IS NOT NULL"
    " GROUP BY r.group_id, r.install) s WHERE s.group_id = group_install.group_id"
    " AND s.install = group_install.install;\n"
    "ALTER TABLE group_day ADD COLUMN longest_ns INTEGER NOT NULL DEFAULT 0;\n"
    "ALTER TABLE group_day ADD COLUMN first_ms INTEGER NOT NULL DEFAULT 0;\n"
    "ALTER TABLE group_day ADD COLUMN last_ms INTEGER NOT NULL DEFAULT 0;\n"
    "UPDATE group_day SET longest_ns = s.longest_ns, first_ms = s.first_ms, last_ms = s.last_ms"
    " FROM (SELECT r.group_id, r.day, r.version, MAX(r.duration_ns) AS longest_ns,"
    " MIN(r.started_ms) AS first_ms, MAX(r.started_ms) AS last_ms FROM report r"
    " WHERE r.group_id IS NOT NULL GROUP BY r.group_id, r.day, r.version) s"
    " WHERE s.group_id = group_day.group_id AND s.day = group_day.day"
    " AND s.version = group_day.version;\n";

/* body_sum: CRC-32C of the body as it is stored; NULL: of before, not looked at yet. damaged:
 * damage.h. */
static const char body_sums[] =
    "ALTER TABLE inbox ADD COLUMN body_sum INTEGER;\n"
    "ALTER TABLE report ADD COLUMN body_sum INTEGER;\n"
    "CREATE TABLE damaged (kind INTEGER NOT NULL, item INTEGER NOT NULL, message TEXT NOT NULL,"
    " found_ms INTEGER NOT NULL, PRIMARY KEY (kind, item)) {CLUSTERED};\n";

/* Calls of watched functions, summed (calls_sums.h). call_site: a place that calls; image 0: none.
 * caller: what it is called, NULL until the job "calls" has named it. todo: 1 its name is to be
 * looked up, 2 it was seen in another version. call_day has the calls of each place in each version
 * and day, call_caller_day those of each caller of all its named places. call_caller.key: of image
 * and function; stale: a place left it. version.last_ms: when a report of it came last, to the day.
 */
static const char summed_calls[] =
    "CREATE TABLE call_caller (id {ID}, project INTEGER NOT NULL, api INTEGER NOT NULL,"
    " key {BLOB} NOT NULL, image TEXT NOT NULL, function TEXT NOT NULL, file TEXT,"
    " line INTEGER NOT NULL, first_version INTEGER, stale INTEGER NOT NULL DEFAULT 0,"
    " UNIQUE (project, api, key));\n"
    "CREATE INDEX call_caller_stale ON call_caller (id) WHERE stale <> 0;\n"
    "CREATE TABLE call_site (id {ID}, project INTEGER NOT NULL, api INTEGER NOT NULL,"
    " image INTEGER NOT NULL, site_offset INTEGER NOT NULL, kind INTEGER NOT NULL, caller INTEGER,"
    " todo INTEGER NOT NULL DEFAULT 1, UNIQUE (project, api, image, site_offset, kind));\n"
    "CREATE INDEX call_site_image ON call_site (image);\n"
    "CREATE INDEX call_site_caller ON call_site (caller, id);\n"
    "CREATE INDEX call_site_todo ON call_site (id) WHERE todo <> 0;\n"
    "CREATE INDEX call_site_pending ON call_site (project, id) WHERE todo <> 0;\n"
    "CREATE TABLE call_day (project INTEGER NOT NULL, version INTEGER NOT NULL,"
    " site INTEGER NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL,"
    " PRIMARY KEY (project, version, site, day)) {CLUSTERED};\n"
    "CREATE INDEX call_day_site ON call_day (site, version);\n"
    "CREATE TABLE call_caller_day (project INTEGER NOT NULL, day INTEGER NOT NULL,"
    " caller INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (project, day, caller))"
    " {CLUSTERED};\n"
    "CREATE INDEX call_caller_day_caller ON call_caller_day (caller);\n"
    "INSERT INTO call_site (project, api, image, site_offset, kind)"
    " SELECT DISTINCT project, api, caller_image, caller_offset, caller_kind FROM call;\n"
    "INSERT INTO call_day (project, version, site, day, count) SELECT c.project, c.version, s.id,"
    " c.last_ms / 86400000, CAST(SUM(c.count) AS BIGINT) FROM call c JOIN call_site s"
    " ON s.project = c.project AND s.api = c.api AND s.image = c.caller_image"
    " AND s.site_offset = c.caller_offset AND s.kind = c.caller_kind"
    " GROUP BY c.project, c.version, s.id, c.last_ms / 86400000;\n"
    "CREATE INDEX call_place ON call (project, api, caller_image, caller_offset);\n"
    "INSERT INTO made (project, kind, made) SELECT project, 9, COUNT(*) FROM call_site"
    " GROUP BY project;\n" /* 9: LIMIT_SITE */
    "INSERT INTO job (kind, subject, payload, state, run_ms, created_ms, changed_ms)"
    " SELECT 'calls', '', '', 0, 0, 0, 0 FROM (SELECT id FROM call_site LIMIT 1) AS s;\n"
    "ALTER TABLE version ADD COLUMN last_ms INTEGER NOT NULL DEFAULT 0;\n"
    "UPDATE version SET last_ms = first_ms;\n"
    "UPDATE version SET last_ms = GREATEST(last_ms, s.ms) FROM (SELECT r.version AS id,"
    " MAX(r.received_ms) AS ms FROM report r GROUP BY r.version) AS s WHERE s.id = version.id;\n"
    "UPDATE version SET last_ms = GREATEST(last_ms, s.ms) FROM (SELECT c.version AS id,"
    " MAX(c.last_ms) AS ms FROM call c GROUP BY c.version) AS s WHERE s.id = version.id;\n";

/* What an installation has in a group, by one look: neither all that it sent nor all of the group
 * is read. And no more indexes that have to follow whatever moves between groups than are needed:
 * report_scope has taken the place of report_device, and report_os is of what never changes, as
 * report_recent is, which has all that a flame graph of the newest reports takes. */
static const char fewer_indexes[] =
    "DROP INDEX report_install;\n"
    "CREATE INDEX report_install ON report (install, group_id, day);\n"
    "DROP INDEX report_device;\n"
    "DROP INDEX report_os;\n"
    "CREATE INDEX report_os ON report (project, os, day, device, version, duration_ns, ending,"
    " kind);\n"
    "DROP INDEX report_recent;\n"
    "CREATE INDEX report_recent ON report (project, received_ms, id, day, version, os, device,"
    " kind, ending, stack, duration_ns);\n";

const struct schema_migration schema_migrations[] = {
    {tables},       {owned_uploads},  {moving_stacks}, {owners},       {ordered_versions},
    {fixed_groups}, {scoped_numbers}, {body_sums},     {summed_calls}, {fewer_indexes}};
const size_t schema_version = sizeof schema_migrations / sizeof *schema_migrations;
