#include "collector/upload_metadata.h"

#include <openssl/evp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MISSING = -1, BROKEN = -2 };

/* Decoded, without what the padding stands for; BROKEN: no base64, or it does not fit. */
static int decode(const char *text, size_t coded, uint8_t *value, size_t size)
{
    if (coded % 4 || coded / 4 * 3 > size)
        return BROKEN;
    size_t padding = 0;
    while (padding < 2 && padding < coded && text[coded - 1 - padding] == '=')
        padding++;
    if (memchr(text, '=', coded - padding))
        return BROKEN;
    int got = EVP_DecodeBlock(value, (const uint8_t *)text, (int)coded);
    if (got < 0 || (size_t)got != coded / 4 * 3) /* it skips spaces: there are none */
        return BROKEN;
    return got - (int)padding;
}

/* The value of `key`; its length, MISSING or BROKEN. */
static int value_of(const char *header, const char *key, uint8_t *value, size_t size)
{
    size_t key_size = strlen(key);
    for (const char *at = header; at && *at;) {
        at += strspn(at, " ,");
        size_t length = strcspn(at, ",");
        const char *next = at + length;
        while (length && at[length - 1] == ' ')
            length--;
        if (length >= key_size && strncmp(at, key, key_size) == 0) {
            if (length == key_size) /* a key may have no value */
                return 0;
            if (at[key_size] == ' ')
                return decode(at + key_size + 1, length - key_size - 1, value, size);
        }
        at = next;
    }
    return MISSING;
}

void upload_metadata_name(const char *header, char name[UPLOAD_NAME_SIZE])
{
    uint8_t value[1024];
    int got = value_of(header, "filename", value, sizeof value);
    size_t begin = 0, used = 0, size = got > 0 ? (size_t)got : 0;
    for (size_t i = 0; i < size; i++)
        if ((value[i] == '/' || value[i] == '\\') && i + 1 < size)
            begin = i + 1;
    for (size_t i = begin; i < size && used < UPLOAD_NAME_SIZE - 1; i++)
        name[used++] = value[i] >= ' ' && value[i] < 127 ? (char)value[i] : '_';
    name[used] = 0;
    if (!used)
        strcpy(name, "upload");
}

bool upload_metadata_project(const char *header, char slug[UPLOAD_PROJECT_SIZE])
{
    uint8_t value[UPLOAD_PROJECT_SIZE + 2];
    int got = value_of(header, "project", value, sizeof value);
    if (got == MISSING)
        return false;
    size_t size = got > 0 && got < UPLOAD_PROJECT_SIZE ? (size_t)got : 0; /* else no project's */
    memcpy(slug, value, size);
    slug[size] = 0;
    return true;
}

bool upload_metadata_sha256(const char *header, uint8_t sha256[32], bool *given)
{
    uint8_t hex[99];
    int got = value_of(header, "sha256", hex, sizeof hex);
    *given = got != MISSING;
    if (!*given)
        return true;
    for (int i = 0; got == 64 && i < 32; i++) {
        const char two[3] = {(char)hex[2 * i], (char)hex[2 * i + 1], 0};
        if (strspn(two, "0123456789abcdef") != 2)
            return false;
        sha256[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return got == 64;
}
