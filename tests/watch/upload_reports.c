#include "watch/upload_reports.h"

#include "report/fwr_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static bool put(void *context, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size;
}

static bool nowhere(void *context, uint64_t address, struct fwr_image *image)
{
    (void)context;
    (void)address;
    (void)image;
    return false;
}

static bool write_report(FILE *file, size_t bytes, const struct fwr_about *about)
{
    void *memory = aligned_alloc(16, (fwr_writer_size() + 15) & ~(size_t)15);
    if (!memory)
        return false;
    struct fwr_writer *w = fwr_create(memory, put, file, nowhere, NULL, about);
    for (uint32_t i = 0; (size_t)ftell(file) < bytes; i++) {
        char name[32];
        snprintf(name, sizeof name, "counter_%u_%08x", i, i * 2654435761u);
        fwr_total(w, name, i * UINT64_C(2654435761));
        if (!fwr_flush(w))
            break;
    }
    bool good = fwr_end(w);
    free(memory);
    return good;
}

bool upload_make_report(const char *folder, size_t bytes, const char *suffix, char id[33])
{
    struct fwr_about about = {
        .kind = FWR_KIND_SNAPSHOT, .started_ms = 1800000000000, .app = "test"};
    if (getentropy(about.id, sizeof about.id) != 0)
        return false;
    for (size_t i = 0; i < sizeof about.id; i++)
        snprintf(id + 2 * i, 3, "%02x", about.id[i]);
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", folder, id, suffix ? suffix : ".fwr");
    FILE *file = fopen(path, "wbx");
    bool good = file && write_report(file, bytes, &about);
    return file && fclose(file) == 0 && good;
}
