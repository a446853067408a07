/* Files cut short everywhere and with random bytes wrong: whatever they claim, nothing outside them
 * is read. Most telling under the address sanitizer; FW_FLIPS sets how many variants are tried. */
#include "object/exercise.h"
#include "object/fixture.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint64_t sink;

static const char *const builds[] = {
    "gcc -g -O1 -shared -fPIC h.c -o h0",
    "gcc -O1 -pie -DMAIN h.c -o h1 && strip h1",
    "gcc -m32 -O1 -shared -fPIC h.c -o h2",
    "aarch64-linux-gnu-gcc -O1 -shared -fPIC h.c -o h3",
    "arm-linux-gnueabihf-gcc -O1 -shared -fPIC h.c -o h4",
    "gcc -O1 -g -c -ffunction-sections h.c -o h5",
};

/* Bytes whose end is the end of their allocation, so that the sanitizer sees the first one past. */
static uint8_t *build(size_t i, size_t *size)
{
    fixture_text(
        "h.c", "#include <stdio.h>\n"
               "static __attribute__((noinline)) int twice(int x) { return puts(\"x\") + 2 * x; }\n"
               "int four(int x) { return twice(twice(x)); }\n"
               "#ifdef MAIN\nint main(int n, char **v) { (void)v; return four(n); }\n#endif\n");
    if (!fixture_try("%s", builds[i]))
        return NULL;
    char name[8];
    snprintf(name, sizeof name, "h%zu", i);
    return fixture_read(name, size);
}

static void survives_truncation(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        size_t size;
        uint8_t *bytes = build(i, &size);
        for (size_t part = 0; bytes && part <= 64; part++) {
            size_t cut = size * part / 64;
            uint8_t *copy = malloc(cut ? cut : 1);
            assert_non_null(copy);
            memcpy(copy, bytes, cut);
            sink = exercise_bytes(copy, cut);
            struct object *o;
            struct fw_failure why;
            fw_error error = object_open_bytes(copy, cut, false, "cut", &o, &why);
            if (part == 64)
                assert_false(error != FW_OK || object_is_truncated(o));
            else if (cut >= 64) /* section headers come last: whatever is cut is missed */
                assert_true(error == FW_ERR_TRUNCATED || object_is_truncated(o));
            if (error == FW_OK)
                object_close(o);
            free(copy);
        }
        free(bytes);
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Where damage tells: anywhere, the file and program headers, or the section headers at the end. */
static size_t random_place(uint64_t *random, size_t size)
{
    size_t whole = (size_t)(next_random(random) % size);
    switch (next_random(random) % 3) {
    case 0: return whole;
    case 1: return whole % 1024;
    default: return size - 1 - whole % (size < 2560 ? size : 2560);
    }
}

static void survives_flipped_bytes(void **state)
{
    (void)state;
    const char *asked = getenv("FW_FLIPS");
    unsigned long flips = asked ? strtoul(asked, NULL, 10) : 4000;
    uint64_t random = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        size_t size;
        uint8_t *bytes = build(i, &size);
        for (unsigned long k = 0; bytes && k < flips; k++) {
            size_t place[4];
            uint8_t old[4];
            size_t count = 1 + next_random(&random) % 4;
            for (size_t n = 0; n < count; n++) {
                place[n] = random_place(&random, size);
                old[n] = bytes[place[n]];
                uint64_t r = next_random(&random);
                bytes[place[n]] = r & 0x100 ? (uint8_t)r : (uint8_t)(r & 0x200 ? 0xff : 0);
            }
            sink = exercise_bytes(bytes, size);
            while (count--)
                bytes[place[count]] = old[count];
        }
        free(bytes);
    }
}

/* Tables whose every entry points into one endless name, and thousands of headers that share bytes:
 * no work may grow with the product of two counts. The time limit of the test judges. */
static void shared_bytes_cost_no_more(void **state)
{
    (void)state;
    enum { SYMBOLS = 100000, STRINGS = 4 << 20, SECTIONS = 60000 };
    size_t symbols_at = 64, strings_at = symbols_at + SYMBOLS * 24, size;
    size_t sections_at = strings_at + STRINGS;
    uint8_t *bytes = calloc(1, size = sections_at + SECTIONS * 64);
    assert_non_null(bytes);
    Elf64_Ehdr header = {.e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_shoff = sections_at,
                         .e_shentsize = 64,
                         .e_shnum = SECTIONS};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    memcpy(bytes, &header, sizeof header);
    for (size_t i = 0; i < SYMBOLS; i++) {
        Elf64_Sym symbol = {.st_name = (uint32_t)i,
                            .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                            .st_shndx = 1,
                            .st_value = 0x1000 + i / 100 * 16};
        memcpy(bytes + symbols_at + i * 24, &symbol, 24);
    }
    memset(bytes + strings_at, '@', STRINGS - 1);
    memset(bytes + strings_at, '_', STRINGS / 2);
    for (size_t i = 1; i < SECTIONS; i++) {
        Elf64_Shdr section = {.sh_type = SHT_NOTE, .sh_offset = 64, .sh_size = size / 2};
        if (i == 1)
            section = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                   .sh_addr = 0x1000,
                                   .sh_size = 0x100000};
        else if (i == 2)
            section = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                   .sh_offset = symbols_at,
                                   .sh_size = SYMBOLS * 24,
                                   .sh_link = 3,
                                   .sh_entsize = 24};
        else if (i == 3)
            section =
                (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = strings_at, .sh_size = STRINGS};
        memcpy(bytes + sections_at + i * 64, &section, 64);
    }
    struct object *o;
    assert_int_equal(object_open_bytes(bytes, size, false, "shared", &o, NULL), FW_OK);
    struct symbols *symbols = symbols_build(o, NULL);
    assert_int_equal(symbols_count(symbols), SYMBOLS / 100);
    symbols_destroy(symbols);
    object_close(o);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_truncation),
        cmocka_unit_test(survives_flipped_bytes),
        cmocka_unit_test(shared_bytes_cost_no_more),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
