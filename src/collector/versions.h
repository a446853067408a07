/*
 * The order of versions of an app. There is one, and everybody uses it: the page's lists, what a
 * gate compares with, and whether a report is of a version in which a hang was to be gone.
 *
 * A version becomes a key of bytes, and keys are compared by memcmp. What has numbers is sorted by
 * them (Semantic Versioning 2.0, section 11; also "2.1", "2.1.0.7", "2026-11-03", "2.1b3",
 * "v2.1.0-5-gabc1234"), then by its build, then by its date. What has none ("nightly", hashes of
 * commits) is sorted by date alone, and comes before all that has numbers. A word before the
 * numbers ("shop-2.1", "helper-7.0") is the version's line: only versions of one line are compared.
 */
#ifndef COLLECTOR_VERSIONS_H
#define COLLECTOR_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VERSION_KEY_SIZE = 1536, VERSION_LINE_SIZE = 33 };

struct version_order {
    bool numbered;                /* it has numbers to be sorted by */
    bool prerelease;              /* its text or build says so: "-beta.1", "rc2", "TestFlight" */
    char line[VERSION_LINE_SIZE]; /* in lower case; "": it names none */
    uint8_t key[VERSION_KEY_SIZE];
    size_t size;                  /* of the key */
    size_t text_size, build_size; /* of its part up to the text's end, and to the build's */
};
/* `date_ms`: when it came out, as far as known. Texts longer than 255 bytes are cut. Thread-safe,
 * allocates nothing. */
void version_order(const char *version, const char *build, int64_t date_ms,
                   struct version_order *order);

/* A version beside the one that was named ("2.1", or with `named_build` "2.1" and "7"): 0 it is
 * that one, a name without a build being all its builds; 1 it is a later one; -1 an earlier one, or
 * of another line, or nobody can tell. Of those without numbers the dates decide: `named_ms` is
 * INT64_MAX for what has not come out. */
int version_beside(const char *version, const char *build, int64_t date_ms, const char *named,
                   const char *named_build, int64_t named_ms);

/* "2.1 (7)" into its two texts; no build: "". False: longer than 255 bytes, or empty. */
bool version_split(const char *label, char version[256], char build[256]);

/* In SQL: the newest first, of rows of `version` with alias v. Lines by what came out in them last.
 */
#define VERSIONS_NEWEST_FIRST                                                                      \
    " v.numbered DESC, (SELECT MAX(l.date_ms) FROM version l WHERE l.project = v.project"          \
    " AND l.numbered = v.numbered AND l.line = v.line) DESC, v.line, v.sort_key DESC, v.id DESC"
/* A row's name. */
#define VERSION_LABEL(v)                                                                           \
    "CASE WHEN " v ".build = '' THEN " v ".version ELSE " v ".version || ' (' || " v               \
    ".build || ')' END"

#endif
