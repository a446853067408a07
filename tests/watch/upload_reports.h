/* Reports to be sent, written as libframewalk writes them. */
#ifndef TESTS_UPLOAD_REPORTS_H
#define TESTS_UPLOAD_REPORTS_H

#include <stdbool.h>
#include <stddef.h>

/* Writes a whole report of at least `bytes` bytes with a random id into FOLDER/ID.fwr (SUFFIX in
 * place of ".fwr" when it is not NULL) and says the id. */
bool upload_make_report(const char *folder, size_t bytes, const char *suffix, char id[33]);

#endif
