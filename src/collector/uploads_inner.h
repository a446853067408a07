/* What the handlers of uploads share: uploads.c, and uploads_part.c for PATCH. */
#ifndef COLLECTOR_UPLOADS_INNER_H
#define COLLECTOR_UPLOADS_INNER_H

#include "collector/uploads.h"

struct upload { /* a row; texts are in the request's arena */
    char id[UPLOAD_ID_DIGITS + 1];
    const char *name, *message, *result;
    uint64_t size, received;
    enum upload_state state;
    uint64_t done, total; /* of the job */
    bool running;
    int64_t owner;   /* the token that created it */
    int64_t project; /* whose its files will be; 0: shared */
};

void upload_random_digits(char *text, size_t digits);
/* 507 */
void upload_no_room(struct http_request *r);
/* Every answer names the version; a client of another one is refused (false, and replied). */
bool upload_speaks_tus(struct http_request *r);
bool upload_header_number(const struct http_request *r, const char *name, uint64_t *value);
void upload_set_number(struct http_request *r, const char *name, uint64_t value);
/* The upload of {id}. False, and replied, when there is none that the client may know of. */
bool upload_of_path(struct http_request *r, struct upload *upload);
/* Headers that tell where it is and how far. */
void upload_set_place(struct http_request *r, const struct upload *u);

/* PATCH: of struct http_route. */
bool upload_part_piece(struct http_request *r, void **state, const uint8_t *data, size_t size);
void upload_part_end(struct http_request *r);
void upload_part_drop(void *state);

#endif
