/*
 * What POST /api/v1/tokens asks for. Pure but for jansson, so that it can be fuzzed.
 *
 * Invariant: nobody gives away more than they have, and what is not understood is refused, never
 * taken for "all".
 */
#ifndef COLLECTOR_TOKEN_REQUEST_H
#define COLLECTOR_TOKEN_REQUEST_H

#include "collector/access_store.h"

#include <jansson.h>

enum { TOKEN_LABEL_MAX = 63, TOKEN_WRONG_SIZE = 160 };

struct token_request {
    struct access_new what; /* the label is of the body; the project is not looked up */
    const char *slug;       /* of the body; NULL: of all projects */
};

/* 0, or the status of the answer, and in `wrong` why. `own`: scopes of who asks. */
int token_request_read(const json_t *body, unsigned own, int64_t now_ms,
                       struct token_request *request, char wrong[TOKEN_WRONG_SIZE]);

/* A text of `body` that people typed: one line of 1 to `most` bytes. NULL: *wrong says so. */
const char *token_request_text(const json_t *body, const char *name, size_t most,
                               char wrong[TOKEN_WRONG_SIZE]);

#endif
