/* docs/openapi.yaml, as it was when this server was built. */
#include "collector/embed.h"
#include "collector/http.h"

/* FW_OPENAPI: the file's path. */
EMBED_TEXT(api_openapi_text, FW_OPENAPI);

static void get_openapi(struct http_request *r)
{
    http_reply_text(r, 200, "application/yaml", api_openapi_text);
}

static const struct http_route routes[] = {
    {.method = "GET", .pattern = "/api/v1/openapi.yaml", .handle = get_openapi},
};
const struct http_routes routes_openapi = {routes, sizeof routes / sizeof *routes};
