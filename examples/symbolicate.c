/* Addresses of an image to functions, files and lines: symbolicate IMAGE ADDRESS... */
#include <framewalk/symbolicate.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print(uint64_t address, const struct fw_resolved *answer)
{
    printf("0x%" PRIx64 "\n", address);
    if (answer->frame_count == 0)
        printf("    %s\n", fw_reason_text(answer->reason));
    for (size_t i = 0; i < answer->frame_count; i++) {
        const struct fw_symbol_frame *frame = &answer->frames[i];
        printf("    %s", frame->function ? frame->function : "?");
        if (frame->file)
            printf(" at %s:%" PRIu32, frame->file, frame->line);
        puts(frame->flags & FW_SYMBOL_INLINED ? " (inlined)" : "");
    }
}

static int look_up(struct fw_source *source, char **words, size_t count)
{
    struct fw_address *addresses = calloc(count + 1, sizeof *addresses);
    struct fw_symbols *symbols;
    struct fw_failure why;
    if (!addresses)
        return 1;
    for (size_t i = 0; i < count; i++)
        addresses[i].value = strtoull(words[i], NULL, 16); /* as nm and objdump show it */
    fw_error error = fw_symbolicate(source, addresses, count, &symbols, &why);
    if (error == FW_OK)
        for (size_t i = 0; i < symbols->count; i++)
            print(addresses[i].value, &symbols->items[i]);
    else
        fprintf(stderr, "%s\n", why.message);
    fw_symbols_free(symbols);
    free(addresses);
    return error != FW_OK;
}

int main(int argc, char **argv)
{
    struct fw_symbolicator *symbolicator;
    struct fw_source *source;
    struct fw_failure why;
    if (argc < 2) {
        fprintf(stderr, "usage: symbolicate IMAGE ADDRESS...\n");
        return 2;
    }
    if (fw_symbolicator_create(NULL, &symbolicator) != FW_OK)
        return 1;
    struct fw_source_request request = {.size = sizeof request, .path = argv[1]};
    int status = 1;
    if (fw_source_open(symbolicator, &request, &source, &why) == FW_OK)
        status = look_up(source, argv + 2, (size_t)argc - 2);
    else
        fprintf(stderr, "%s\n", why.message);
    fw_source_close(source);
    fw_symbolicator_destroy(symbolicator);
    return status;
}
