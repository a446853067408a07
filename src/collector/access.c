/* access_store.h: making and comparing secrets; access.h: the audit log. */
#include "base/hex.h"
#include "collector/access_store.h"

#include "base/failure.h"
#include "collector/collector.h"
#include "collector/db.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

enum { SECRET_BYTES = 32 };

bool access_same_text(const char *a, const char *b)
{
    size_t size = strlen(a);
    return size && size == strlen(b) && CRYPTO_memcmp(a, b, size) == 0;
}

void access_hash(const char *secret, uint8_t hash[ACCESS_HASH_SIZE])
{
    SHA256((const unsigned char *)secret, strlen(secret), hash);
}

static bool random_digits(char *text)
{
    unsigned char bytes[SECRET_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return false;
    hex_text(text, bytes, sizeof bytes);
    OPENSSL_cleanse(bytes, sizeof bytes);
    return true;
}

fw_error access_make(struct db_conn *conn, const struct access_new *what,
                     char secret[ACCESS_SECRET_SIZE], char csrf[ACCESS_CSRF_SIZE], int64_t *id,
                     struct fw_failure *why)
{
    static const char *const fronts[] = {"", "fwk_", "fwt_", "fws_"};
    uint8_t hash[ACCESS_HASH_SIZE];
    strcpy(secret, fronts[what->kind]);
    if (!random_digits(secret + 4) || (csrf && !random_digits(csrf)))
        return failure_say(why, FW_ERR_SYSTEM, 0, "no random numbers are to be had");
    access_hash(secret, hash);
    return db_query_int(
        conn, id, why,
        "INSERT INTO access_key (kind, hash, project, scopes, label, parent, csrf, created_ms,"
        " expires_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
        DB_VALUES(db_int(what->kind), db_bytes(hash, sizeof hash),
                  what->project ? db_int(what->project) : db_null(), db_int(what->scopes),
                  db_text(what->label), what->parent ? db_int(what->parent) : db_null(),
                  db_text(csrf), db_int((int64_t)collector_now_ms()),
                  what->expires_ms ? db_int(what->expires_ms) : db_null()));
}

void audit(struct db_conn *conn, const struct access *who, const char *action, const char *subject,
           const char *detail)
{
    /* A failure shows at the commit. */
    db_run(conn, NULL,
           "INSERT INTO audit (at_ms, who, label, action, subject, detail)"
           " VALUES ($1, $2, $3, $4, $5, $6)",
           DB_VALUES(db_int((int64_t)collector_now_ms()), who->id ? db_int(who->id) : db_null(),
                     db_text(who->label), db_text(action), db_text(subject), db_text(detail)));
}
