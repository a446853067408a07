/* The page of a build without web/. */
#include "collector/page.h"

static const unsigned char text[] =
    "<!doctype html><html lang=en><title>Framewalk</title><p>This collector was built without its "
    "page: build web/ (web/README.md) and then the collector again. Its API is at /api/v1.\n";

const struct page_file page_files[] = {
    {"/index.html", "text/html; charset=utf-8", "\"none\"", text, sizeof text - 1, false},
};
const size_t page_file_count = 1;
