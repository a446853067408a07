/*
 * Texts that handlers of the collector read themselves: JSON of POST /api/v1/tokens, and the tus
 * header Upload-Metadata. The first byte says which.
 */
#include "collector/token_request.h"
#include "collector/upload_metadata.h"

#include <stdlib.h>
#include <string.h>

enum { NOW = 1000, OWN = ACCESS_READ | ACCESS_ADMIN };

static void check(bool fine)
{
    if (!fine)
        abort();
}

static void fuzz_token(const char *text, size_t size)
{
    struct token_request request;
    char wrong[TOKEN_WRONG_SIZE] = "";
    json_t *body = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(body)) {
        json_decref(body);
        return;
    }
    int status = token_request_read(body, OWN, NOW, &request, wrong);
    if (status) {
        check((status == 400 || status == 403) && wrong[0]);
    } else {
        const struct access_new *what = &request.what;
        const json_t *project = json_object_get(body, "project");
        check(what->label && what->label[0] && strlen(what->label) <= TOKEN_LABEL_MAX);
        check(!what->expires_ms || what->expires_ms > NOW);
        check(request.slug || !project || json_is_null(project));
        if (what->kind == ACCESS_KEY)
            check(request.slug && what->scopes == ACCESS_REPORTS_WRITE);
        else
            check(what->kind == ACCESS_TOKEN && what->scopes && !(what->scopes & ~(unsigned)OWN));
    }
    json_decref(body);
}

static void fuzz_metadata(const char *header)
{
    char name[UPLOAD_NAME_SIZE];
    uint8_t sha256[32];
    bool given;
    upload_metadata_name(header, name);
    check(name[0] && strlen(name) < sizeof name);
    for (const char *c = name; *c; c++)
        check(*c >= ' ' && *c < 127);
    const char *slash = strpbrk(name, "/\\");
    check(!slash || !slash[1]);
    if (!upload_metadata_sha256(header, sha256, &given))
        check(given);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = size ? malloc(size) : NULL;
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] == 't')
        fuzz_token(text, size - 1);
    else if (data[0] == 'm')
        fuzz_metadata(text);
    free(text);
    return 0;
}
