/* The salt of installations' hashes: install.h. */
#include "collector/install.h"
#include "base/failure.h"
#include "base/hex.h"

#include <openssl/rand.h>
#include <stdio.h>

static fw_error read_salt(struct db_conn *conn, char salt[INSTALL_SALT + 1], struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e =
        db_query(conn, &rows, why, "SELECT value FROM setting WHERE name = 'salt'", DB_NONE);
    if (e)
        return e;
    salt[0] = '\0';
    if (db_next(rows))
        snprintf(salt, INSTALL_SALT + 1, "%s", db_get_text(rows, 0));
    return db_end(rows, why);
}

static fw_error make_salt(struct db_conn *conn, struct fw_failure *why)
{
    unsigned char random[INSTALL_SALT / 2];
    char text[INSTALL_SALT + 1];
    if (RAND_bytes(random, sizeof random) != 1)
        return failure_say(why, FW_ERR_SYSTEM, 0, "there are no random numbers");
    hex_text(text, random, sizeof random);
    return db_run(conn, why,
                  "INSERT INTO setting (name, value) VALUES ('salt', $1)"
                  " ON CONFLICT (name) DO NOTHING",
                  DB_VALUES(db_text(text)));
}

fw_error install_salt(struct db *db, char salt[INSTALL_SALT + 1], struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = read_salt(conn, salt, why);
    if (!e && !salt[0]) {
        e = db_begin(conn, why);
        e = e ? e : make_salt(conn, why);
        e = e ? e : db_commit(conn, why);
        e = e ? e : read_salt(conn, salt, why); /* perhaps another server's */
    }
    db_give(db, conn);
    if (!e && strlen(salt) != INSTALL_SALT)
        e = failure_say(why, FW_ERR_CORRUPT, 0, "the setting \"salt\" is not one that we made");
    return e;
}
