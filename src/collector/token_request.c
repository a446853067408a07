#include "collector/token_request.h"

#include <stdio.h>
#include <string.h>

const char *token_request_text(const json_t *body, const char *name, size_t most,
                               char wrong[TOKEN_WRONG_SIZE])
{
    const char *text = json_string_value(json_object_get(body, name));
    size_t size = text ? strlen(text) : 0;
    bool fine = size >= 1 && size <= most;
    for (size_t i = 0; i < size && fine; i++)
        fine = (unsigned char)text[i] >= 0x20 && text[i] != 0x7f;
    if (!fine)
        snprintf(wrong, TOKEN_WRONG_SIZE, "\"%s\" must be one line of 1 to %zu bytes", name, most);
    return fine ? text : NULL;
}

static int refuse(char wrong[TOKEN_WRONG_SIZE], int status, const char *text)
{
    snprintf(wrong, TOKEN_WRONG_SIZE, "%s", text);
    return status;
}

static int read_scopes(const json_t *list, unsigned own, unsigned *scopes,
                       char wrong[TOKEN_WRONG_SIZE])
{
    *scopes = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        unsigned scope = name ? access_scope_of(name) : 0;
        if (!scope)
            return refuse(wrong, 400,
                          "\"scopes\" takes reports:write, symbols:write, read, symbols:read, "
                          "triage, admin");
        *scopes |= scope;
    }
    if (!*scopes)
        return refuse(wrong, 400, "\"scopes\" must name at least one");
    if (*scopes & ~own)
        return refuse(wrong, 403, "a token cannot give scopes that it has not itself");
    return 0;
}

int token_request_read(const json_t *body, unsigned own, int64_t now_ms,
                       struct token_request *request, char wrong[TOKEN_WRONG_SIZE])
{
    const char *kind = json_string_value(json_object_get(body, "kind"));
    const json_t *expires = json_object_get(body, "expires_ms");
    const json_t *project = json_object_get(body, "project");
    struct access_new *what = &request->what;
    *request = (struct token_request){.slug = json_string_value(project)};
    what->kind = kind && strcmp(kind, "key") == 0 ? ACCESS_KEY : ACCESS_TOKEN;
    what->expires_ms = json_integer_value(expires);
    what->label = token_request_text(body, "label", TOKEN_LABEL_MAX, wrong);
    if (!what->label)
        return 400;
    if (!kind || (strcmp(kind, "key") != 0 && strcmp(kind, "token") != 0))
        return refuse(wrong, 400, "\"kind\" must be \"key\" or \"token\"");
    if (expires && !json_is_null(expires) && what->expires_ms <= now_ms)
        return refuse(wrong, 400, "\"expires_ms\" must be a time to come, or null");
    if (project && !request->slug && !json_is_null(project))
        return refuse(wrong, 400, "\"project\" must be a project's slug, or null for all");
    if (what->kind == ACCESS_KEY && !request->slug)
        return refuse(wrong, 400, "a key is of one project: \"project\" must name it");
    if (what->kind == ACCESS_TOKEN)
        return read_scopes(json_object_get(body, "scopes"), own, &what->scopes, wrong);
    what->scopes = ACCESS_REPORTS_WRITE; /* it may send reports and nothing else */
    return 0;
}
