/*
 * A scanner for the answers of S3: flat XML, of which only the texts of leaf elements count.
 *
 * Tolerant (unknown elements, attributes, name space prefixes, comments are passed over), bounded
 * by its input: no recursion, no memory of its own. It does not tell whether the XML is
 * well-formed; who reads asks for the elements that must be there.
 */
#ifndef COLLECTOR_S3_XML_H
#define COLLECTOR_S3_XML_H

#include "base/reader.h"

struct s3_xml {
    const uint8_t *at, *end;
};

/* The end of an element, with what stands between it and the tag before: for a leaf its text. */
struct s3_element {
    struct span name, text;
};

struct s3_xml s3_xml_over(struct span answer);
bool s3_xml_next(struct s3_xml *xml, struct s3_element *element); /* false: no more */
bool s3_xml_is(const struct s3_element *element, const char *name);
/* The text with its entities replaced, NUL behind; false when it does not fit or is none. */
bool s3_xml_text(const struct s3_element *element, char *to, size_t size);
/* The first element `name` of an answer. */
bool s3_xml_find(struct span answer, const char *name, char *to, size_t size);

/* One page of ListObjectsV2. */
struct s3_page {
    struct s3_xml xml;
    bool truncated; /* more pages follow, the next one from `token` */
    char token[1100];
};
struct s3_object {
    char key[1100];
    uint64_t size, changed_ms;
};
/* False: the page has no further object; `truncated` and `token` count then. */
bool s3_page_next(struct s3_page *page, struct s3_object *object);

/* One page of ListMultipartUploads. */
struct s3_uploads {
    struct s3_xml xml;
    bool truncated; /* more follow, behind the two markers */
    char key_marker[1100], id_marker[1100];
};
struct s3_upload {
    char key[1100], id[1100];
    uint64_t begun_ms; /* 0: not told */
};
/* False: the page has no further upload; the other fields count then. */
bool s3_uploads_next(struct s3_uploads *page, struct s3_upload *upload);

#endif
