/*
 * The page, embedded: web/ is built to a C file with these tables; without it page_none.c has the
 * one line that says how to build it.
 */
#ifndef COLLECTOR_PAGE_H
#define COLLECTOR_PAGE_H

#include <stdbool.h>
#include <stddef.h>

struct page_file {
    const char *path;        /* "/index.html", "/assets/app-1a2b.js" */
    const char *type, *etag; /* etag with its quotes */
    const unsigned char *data;
    size_t size;
    bool gzip; /* the data is gzip */
};
extern const struct page_file page_files[];
extern const size_t page_file_count;

#endif
