/*
 * Searching folder trees for a debug file of one name, which has no identity by which the index of
 * the trees would know it.
 *
 * Bounded: DEPTH folders deep, FILES files in all. Symbolic links to folders are not followed, so
 * there are no circles. Only the headers of a file are read, and most files are told by their first
 * bytes. What was not the one is counted, not listed.
 */
#include "symbolicate/find_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH = 16, FILES = 50000 };

struct tree {
    struct finder *finder;
    const char *name; /* the file name that is wanted */
    const struct candidate_test *test;
    struct object *found;
    size_t files;
};

static void look_at(struct tree *tree, const char *path)
{
    struct object *candidate;
    tree->files++;
    if (object_open(path, &candidate, NULL) != FW_OK)
        return;
    if (tree->test->objection(tree->finder, candidate, tree->test->context)) {
        object_close(candidate);
        return;
    }
    finder_note(tree->finder, path, NULL);
    tree->found = candidate;
}

static void search(struct tree *tree, const char *folder, unsigned depth);

static void visit(struct tree *tree, const char *folder, const struct dirent *entry, unsigned depth)
{
    char *path;
    struct stat status;
    if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0) {
        tree->finder->no_memory = true;
        return;
    }
    if (lstat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            search(tree, path, depth + 1);
        else if (strcmp(entry->d_name, tree->name) == 0)
            look_at(tree, path); /* refuses what is no regular file */
    }
    free(path);
}

static void search(struct tree *tree, const char *folder, unsigned depth)
{
    DIR *dir = depth < DEPTH ? opendir(folder) : NULL;
    if (!dir)
        return;
    const struct dirent *entry;
    while (!tree->found && !tree->finder->no_memory && tree->files < FILES &&
           (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            visit(tree, folder, entry, depth);
    closedir(dir);
}

struct object *finder_by_name(struct finder *finder, const char *name,
                              const struct candidate_test *test)
{
    struct tree tree = {.finder = finder, .name = name, .test = test};
    /* The last folder is the system's, whose layout is known. */
    for (char **folder = finder->folders; folder[0] && folder[1] && !tree.found; folder++) {
        tree.files = 0;
        search(&tree, *folder, 0);
        char outcome[96];
        snprintf(outcome, sizeof outcome, "none of %zu files of that name%s", tree.files,
                 tree.files < FILES ? "" : ", where the search ended");
        if (!tree.found)
            finder_note(finder, *folder, outcome);
    }
    return tree.found;
}
