/*
 * What stands for a person or a device in the database: a salted hash, never the thing itself.
 *
 * The salt is the setting "salt", 64 random hexadecimal digits that the first server made; it never
 * changes, so one installation has one hash.
 */
#ifndef COLLECTOR_INSTALL_H
#define COLLECTOR_INSTALL_H

#include "collector/db.h"

enum { INSTALL_SALT = 64 };

/* The salt, made when there is none yet, in a transaction of its own: hold no connection. */
fw_error install_salt(struct db *db, char salt[INSTALL_SALT + 1], struct fw_failure *why);

/* The first 16 bytes of HMAC-SHA256 by `salt` of the text. FW_ERR_MEMORY. Thread-safe. */
fw_error install_hash(const char *salt, struct span text, uint8_t hash[16]);

#endif
