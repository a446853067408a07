/*
 * The header Upload-Metadata of tus 1.0: "key base64, key base64". Pure, so that it can be fuzzed.
 */
#ifndef COLLECTOR_UPLOAD_METADATA_H
#define COLLECTOR_UPLOAD_METADATA_H

#include <stdbool.h>
#include <stdint.h>

enum { UPLOAD_NAME_SIZE = 200 + 1, UPLOAD_PROJECT_SIZE = 64 + 1 };

/* The last part of what the client calls the file, printable ASCII; "upload" when it says nothing.
 * `header`: NULL is fine. */
void upload_metadata_name(const char *header, char name[UPLOAD_NAME_SIZE]);

/* The project that the files are to be of; false: it is not said. "" for what can be none. */
bool upload_metadata_project(const char *header, char slug[UPLOAD_PROJECT_SIZE]);

/* False: a sha256 is there, and it is none. */
bool upload_metadata_sha256(const char *header, uint8_t sha256[32], bool *given);

#endif
