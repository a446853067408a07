/* Writes a Framewalk report that has everything: `fwr_example FILE`. For the test that decodes it
 * with protobuf's own tools, and as a seed for the fuzz target. */
#include "report/fwr_support.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct fwr_file file = {0};
    FILE *out = argc == 2 ? fopen(argv[1], "wb") : NULL;
    if (!out)
        return 2;
    fwr_write_example(&file);
    size_t written = fwrite(file.data, 1, file.size, out);
    bool good = fclose(out) == 0 && written == file.size;
    fwr_file_free(&file);
    return good ? 0 : 1;
}
