/*
 * store_file DATA FILE...: puts debug files and their symbol maps into the data folder of a server
 * (SQLite and files), which may be running; prints "ID ARCH" of each.
 */
#include "collector/store_map.h"

#include "collector/blobs.h"
#include "collector/db.h"
#include "object/codecs.h"
#include "object/object.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    char url[4096], cache[4096];
    struct collector c = {0};
    struct fw_failure why = {0};
    if (argc < 3)
        return 2;
    object_set_codecs(&object_codecs_all);
    snprintf(url, sizeof url, "sqlite:%s/db/main.sqlite", argv[1]);
    bool good = db_open(url, &c.db, &why) == FW_OK;
    snprintf(url, sizeof url, "file:%s/store", argv[1]);
    snprintf(cache, sizeof cache, "%s/cache", argv[1]);
    good = good && blobs_open(url, cache, 1 << 30, &c.blobs, &why) == FW_OK;
    for (int i = 2; good && i < argc; i++) {
        struct stored_file file;
        good = store_debug_file(&c, argv[i], &file, &why);
        for (size_t k = 0; good && k < file.id_size; k++)
            printf("%02x", file.id[k]);
        if (good)
            printf(" %s\n", file.arch);
    }
    if (!good)
        fprintf(stderr, "%s\n", why.message);
    blobs_close(c.blobs);
    db_close(c.db);
    return good ? 0 : 1;
}
