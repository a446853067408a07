/* What the session's handlers ask of a request beyond http.h. */
#ifndef COLLECTOR_HTTP_SESSION_H
#define COLLECTOR_HTTP_SESSION_H

#include "collector/http.h"

const char *http_session_cookie(const struct http_request *r); /* its name */
const char *http_csrf(const struct http_request *r);           /* of its session; else "" */
const char *http_address(const struct http_request *r);        /* who asks, without port */
/* Whether it was made on this machine, as far as that can be told. */
bool http_from_this_machine(const struct http_request *r);
/* Whether a browser says, or leaves open, that a page of ours made this request. */
bool http_same_origin(const struct http_request *r);
int64_t http_session_expires(const struct http_request *r); /* milliseconds since 1970 */
bool http_has_tls(const struct http_request *r);

#endif
