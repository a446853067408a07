#include "collector/s3_xml.h"

#include <stdio.h>
#include <time.h>

struct s3_xml s3_xml_over(struct span answer)
{
    return (struct s3_xml){answer.data, answer.size ? answer.data + answer.size : answer.data};
}

static bool starts(const struct s3_xml *xml, const char *with)
{
    size_t size = strlen(with);
    return (size_t)(xml->end - xml->at) >= size && memcmp(xml->at, with, size) == 0;
}

/* Passes over all up to and including `mark`. */
static bool pass(struct s3_xml *xml, const char *mark)
{
    size_t left = (size_t)(xml->end - xml->at);
    const uint8_t *found = left ? memmem(xml->at, left, mark, strlen(mark)) : NULL;
    xml->at = found ? found + strlen(mark) : xml->end;
    return found;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The name of a tag, without what stands before a colon. */
static struct span tag_name(const uint8_t *from, const uint8_t *to)
{
    const uint8_t *end = from;
    for (; end < to && !is_space(*end) && *end != '/'; end++)
        if (*end == ':')
            from = end + 1;
    return (struct span){from, (size_t)(end - from)};
}

bool s3_xml_next(struct s3_xml *xml, struct s3_element *element)
{
    const uint8_t *text = xml->at;
    while (xml->at < xml->end) {
        const uint8_t *open = memchr(xml->at, '<', (size_t)(xml->end - xml->at));
        if (!open)
            break;
        xml->at = open + 1;
        if (starts(xml, "!--")) {
            pass(xml, "-->");
            continue;
        }
        const uint8_t *inside = xml->at;
        if (!pass(xml, ">"))
            break;
        const uint8_t *close = xml->at - 1;
        bool ends = inside < close && *inside == '/', empty = inside < close && close[-1] == '/';
        if (ends || empty) {
            element->name = tag_name(inside + ends, close);
            element->text = (struct span){text, ends ? (size_t)(open - text) : 0};
            return true;
        }
        text = xml->at;
    }
    xml->at = xml->end;
    return false;
}

bool s3_xml_is(const struct s3_element *element, const char *name)
{
    return element->name.size == strlen(name) &&
           memcmp(element->name.data, name, element->name.size) == 0;
}

/* The character that an entity stands for, and how long the entity is; 0: none of those that are
 * told here. */
static size_t entity(const uint8_t *at, size_t left, char *c)
{
    static const struct {
        const char *text;
        char c;
    } known[] = {{"&amp;", '&'},   {"&lt;", '<'},  {"&gt;", '>'},   {"&quot;", '"'},
                 {"&apos;", '\''}, {"&#34;", '"'}, {"&#39;", '\''}, {"&#x22;", '"'},
                 {"&#38;", '&'},   {"&#43;", '+'}, {"&#x2B;", '+'}, {"&#x2F;", '/'}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t size = strlen(known[i].text);
        if (left >= size && memcmp(at, known[i].text, size) == 0) {
            *c = known[i].c;
            return size;
        }
    }
    return 0;
}

bool s3_xml_text(const struct s3_element *element, char *to, size_t size)
{
    size_t out = 0;
    for (size_t i = 0; i < element->text.size;) {
        char c = (char)element->text.data[i];
        size_t length = 1;
        if (c == '&')
            length = entity(element->text.data + i, element->text.size - i, &c);
        if (!length || !c || out + 1 >= size)
            return false;
        to[out++] = c;
        i += length;
    }
    to[out] = 0;
    return true;
}

bool s3_xml_find(struct span answer, const char *name, char *to, size_t size)
{
    struct s3_xml xml = s3_xml_over(answer);
    struct s3_element element;
    while (s3_xml_next(&xml, &element))
        if (s3_xml_is(&element, name))
            return s3_xml_text(&element, to, size);
    return false;
}

static uint64_t number(const char *text)
{
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9' && value < UINT64_MAX / 10 - 10; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

/* 2026-11-22T09:23:40.123Z */
static uint64_t milliseconds(const char *text)
{
    struct tm t = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &t);
    time_t seconds = rest ? timegm(&t) : -1;
    return seconds > 0 ? (uint64_t)seconds * 1000 : 0;
}

bool s3_page_next(struct s3_page *page, struct s3_object *object)
{
    struct s3_element element;
    char text[64];
    *object = (struct s3_object){.size = 0};
    while (s3_xml_next(&page->xml, &element)) {
        bool is_text = s3_xml_text(&element, text, sizeof text);
        if (s3_xml_is(&element, "Key") && !s3_xml_text(&element, object->key, sizeof object->key))
            object->key[0] = 0; /* none of ours */
        else if (s3_xml_is(&element, "Size") && is_text)
            object->size = number(text);
        else if (s3_xml_is(&element, "LastModified") && is_text)
            object->changed_ms = milliseconds(text);
        else if (s3_xml_is(&element, "IsTruncated"))
            page->truncated = is_text && strcmp(text, "true") == 0;
        else if (s3_xml_is(&element, "NextContinuationToken") &&
                 !s3_xml_text(&element, page->token, sizeof page->token))
            page->token[0] = 0;
        else if (s3_xml_is(&element, "Contents") && object->key[0])
            return true;
        else if (s3_xml_is(&element, "Contents"))
            *object = (struct s3_object){.size = 0};
    }
    return false;
}

static void take_text(const struct s3_element *element, char *to, size_t size)
{
    if (!s3_xml_text(element, to, size))
        to[0] = 0; /* none of ours */
}

bool s3_uploads_next(struct s3_uploads *page, struct s3_upload *upload)
{
    struct s3_element e;
    char text[64];
    *upload = (struct s3_upload){.begun_ms = 0};
    while (s3_xml_next(&page->xml, &e)) {
        if (s3_xml_is(&e, "Key"))
            take_text(&e, upload->key, sizeof upload->key);
        else if (s3_xml_is(&e, "UploadId"))
            take_text(&e, upload->id, sizeof upload->id);
        else if (s3_xml_is(&e, "Initiated"))
            upload->begun_ms = s3_xml_text(&e, text, sizeof text) ? milliseconds(text) : 0;
        else if (s3_xml_is(&e, "IsTruncated"))
            page->truncated = s3_xml_text(&e, text, sizeof text) && strcmp(text, "true") == 0;
        else if (s3_xml_is(&e, "NextKeyMarker"))
            take_text(&e, page->key_marker, sizeof page->key_marker);
        else if (s3_xml_is(&e, "NextUploadIdMarker"))
            take_text(&e, page->id_marker, sizeof page->id_marker);
        else if (s3_xml_is(&e, "Upload") && upload->key[0] && upload->id[0])
            return true;
        else if (s3_xml_is(&e, "Upload"))
            *upload = (struct s3_upload){.begun_ms = 0};
    }
    return false;
}
