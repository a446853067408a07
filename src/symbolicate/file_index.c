/*
 * The index of files by identity.
 *
 * Bounded: DEPTH folders deep, ENTRIES entries and FILES object files in each folder named.
 * Symbolic links are followed to files, never to folders, so there are no circles. Most files are
 * told by their first bytes; of the others only headers are read. What is damaged is left out: it
 * has no identity that could be trusted.
 */
#include "symbolicate/file_index.h"

#include "base/array.h"
#include "object/debug_sections.h"
#include "symbolicate/debug_file.h"
#include "symbolicate/find.h"
#include "symmap/symmap.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 16, ENTRIES = 400000, FILES = 50000, ID_MAX = 64, IDS_TOLD = 3 };

struct entry {
    uint64_t hash;
    uint32_t number; /* in the order of the walk */
    uint8_t id_size;
    uint8_t id[ID_MAX];
    struct indexed_file file;
};

struct folder { /* what the walk of one folder came to */
    size_t entries, files, first_id, ids;
    bool cut; /* the walk ended before the folder did */
};

struct file_index {
    pthread_mutex_t lock;
    const char *const *names; /* of the folders */
    struct folder *folders;
    size_t folder_count;
    bool built, no_memory;
    struct entry *entries; /* by (hash, number) once built */
    size_t count, capacity;
    char (*told)[2 * ID_MAX + 1]; /* IDS_TOLD for each folder */
};

struct file_index *file_index_create(const char *const *folders)
{
    struct file_index *index = calloc(1, sizeof *index);
    if (!index)
        return NULL;
    index->names = folders;
    while (folders && folders[index->folder_count])
        index->folder_count++;
    index->folders = calloc(index->folder_count + 1, sizeof *index->folders);
    index->told = calloc(index->folder_count + 1, IDS_TOLD * sizeof *index->told);
    pthread_mutex_init(&index->lock, NULL);
    if (index->folders && index->told)
        return index;
    file_index_destroy(index);
    return NULL;
}

void file_index_destroy(struct file_index *index)
{
    if (!index)
        return;
    for (size_t i = 0; i < index->count; i++)
        free((char *)index->entries[i].file.path);
    free(index->entries);
    free(index->folders);
    free(index->told);
    pthread_mutex_destroy(&index->lock);
    free(index);
}

static uint64_t hash_of(struct span id) /* FNV-1a */
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < id.size; i++)
        hash = (hash ^ id.data[i]) * 0x100000001b3;
    return hash;
}

static void add(struct file_index *index, struct folder *folder, struct span id, const char *path,
                enum indexed_kind kind)
{
    if (id.size == 0 || id.size > ID_MAX)
        return;
    struct entry entry = {.hash = hash_of(id),
                          .number = (uint32_t)index->count,
                          .id_size = (uint8_t)id.size,
                          .file = {strdup(path), kind}};
    memcpy(entry.id, id.data, id.size);
    if (!entry.file.path ||
        !array_room(&index->entries, &index->capacity, index->count, sizeof entry)) {
        free((char *)entry.file.path);
        index->no_memory = true;
        return;
    }
    index->entries[index->count++] = entry;
    if (folder->ids < IDS_TOLD) {
        char *text = index->told[(size_t)(folder - index->folders) * IDS_TOLD + folder->ids];
        for (size_t i = 0; i < id.size; i++)
            snprintf(text + 2 * i, 3, "%02x", id.data[i]);
    }
    folder->ids++;
}

static enum indexed_kind kind_of(const struct object *object)
{
    if (debug_file_has_code(object) || !debug_files_has_dwarf(object))
        return object_type(object) == OBJECT_DSYM ? INDEXED_DEBUG : INDEXED_IMAGE;
    return INDEXED_DEBUG;
}

struct slices {
    struct file_index *index;
    uint8_t ids[32][16]; /* UUIDs; more slices than that there are not */
    size_t count;
};

static bool take_slice(void *context, const struct object_slice *slice)
{
    struct slices *s = context;
    if (slice->uuid.size == sizeof s->ids[0] && s->count < sizeof s->ids / sizeof s->ids[0])
        memcpy(s->ids[s->count++], slice->uuid.data, sizeof s->ids[0]);
    return true;
}

static void add_macho(struct file_index *index, struct folder *folder, const char *path)
{
    struct slices slices = {.index = index};
    if (object_slices(path, take_slice, &slices, NULL) != FW_OK)
        return;
    for (size_t i = 0; i < slices.count; i++) {
        struct object *object;
        struct object_choice choice = {.uuid = {slices.ids[i], sizeof slices.ids[i]}};
        if (object_open_choice(path, &choice, &object, NULL) != FW_OK)
            continue;
        add(index, folder, choice.uuid, path, kind_of(object));
        object_close(object);
    }
}

static void add_elf(struct file_index *index, struct folder *folder, const char *path)
{
    struct object *object;
    if (object_open(path, &object, NULL) != FW_OK)
        return;
    struct span id = object_supplementary_id(object);
    if (object_type(object) != OBJECT_CORE)
        add(index, folder, id, path, kind_of(object));
    object_close(object);
}

static void add_map(struct file_index *index, struct folder *folder, const char *path)
{
    struct symmap *map;
    if (symmap_open(path, &map, NULL) != FW_OK)
        return;
    const struct symmap_identity *identity = symmap_identity(map);
    add(index, folder, (struct span){identity->id, identity->id_size}, path, INDEXED_MAP);
    symmap_close(map);
}

static void look_at(struct file_index *index, struct folder *folder, const char *path)
{
    uint8_t magic[8] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool got = fd >= 0 && read(fd, magic, sizeof magic) == (ssize_t)sizeof magic;
    if (fd >= 0)
        close(fd);
    if (!got)
        return;
    enum debug_file_form form = debug_file_form((struct span){magic, sizeof magic});
    if (form != DEBUG_FILE_ELF && form != DEBUG_FILE_MACHO && form != DEBUG_FILE_MAP)
        return;
    if (folder->files >= FILES) {
        folder->cut = true;
        return;
    }
    folder->files++;
    if (form == DEBUG_FILE_ELF)
        add_elf(index, folder, path);
    else if (form == DEBUG_FILE_MACHO)
        add_macho(index, folder, path);
    else
        add_map(index, folder, path);
}

static int by_path(const void *a, const void *b)
{
    char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* The entries of a folder as paths, ascending: the index must not depend on their order on disk. */
static char **list_folder(struct file_index *index, const char *path, size_t *count)
{
    DIR *dir = opendir(path);
    char **list = NULL;
    size_t capacity = 0;
    *count = 0;
    for (struct dirent *entry; dir && *count < ENTRIES && (entry = readdir(dir));) {
        char *name = NULL;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!array_room(&list, &capacity, *count, sizeof *list) ||
            asprintf(&name, "%s/%s", path, entry->d_name) < 0) {
            index->no_memory = true;
            break;
        }
        list[(*count)++] = name;
    }
    if (dir)
        closedir(dir);
    if (*count)
        qsort(list, *count, sizeof *list, by_path);
    return list;
}

static void walk(struct file_index *index, struct folder *folder, const char *path, unsigned depth)
{
    size_t count;
    if (depth == DEPTH) {
        folder->cut = true;
        return;
    }
    char **list = list_folder(index, path, &count);
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        if (folder->entries++ >= ENTRIES)
            folder->cut = true;
        else if (!index->no_memory && lstat(list[i], &status) == 0) {
            bool link = S_ISLNK(status.st_mode);
            if (S_ISDIR(status.st_mode))
                walk(index, folder, list[i], depth + 1);
            else if (!link || stat(list[i], &status) == 0)
                if (S_ISREG(status.st_mode))
                    look_at(index, folder, list[i]);
        }
        free(list[i]);
    }
    free(list);
}

static int by_hash(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static void build(struct file_index *index)
{
    for (size_t i = 0; i < index->folder_count; i++) {
        struct stat status;
        if (stat(index->names[i], &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode))
            walk(index, &index->folders[i], index->names[i], 0);
        else if (S_ISREG(status.st_mode))
            look_at(index, &index->folders[i], index->names[i]);
    }
    if (index->count)
        qsort(index->entries, index->count, sizeof *index->entries, by_hash);
    index->built = true;
}

bool file_index_find(struct file_index *index, struct span id,
                     bool (*each)(void *context, const struct indexed_file *file), void *context)
{
    pthread_mutex_lock(&index->lock);
    if (!index->built)
        build(index);
    pthread_mutex_unlock(&index->lock);
    uint64_t hash = hash_of(id);
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->entries[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < index->count && index->entries[low].hash == hash; low++) {
        const struct entry *entry = &index->entries[low];
        if (entry->id_size == id.size && memcmp(entry->id, id.data, id.size) == 0 &&
            !each(context, &entry->file))
            break;
    }
    return !index->no_memory;
}

void file_index_tell(const struct file_index *index,
                     void (*tell)(void *context, const char *place, const char *outcome),
                     void *context)
{
    for (size_t i = 0; i < index->folder_count; i++) {
        const struct folder *folder = &index->folders[i];
        char text[IDS_TOLD * (2 * ID_MAX + 3) + 96];
        int used = snprintf(text, sizeof text, "none of %zu object files%s", folder->files,
                            folder->cut ? ", where the search ended" : "");
        for (size_t k = 0; k < folder->ids && folder->ids <= IDS_TOLD; k++)
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", k ? ", " : ": ",
                             index->told[i * IDS_TOLD + k]);
        tell(context, index->names[i], text);
    }
}
