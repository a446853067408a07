/* Files that become texts of the program when it is built. */
#ifndef COLLECTOR_EMBED_H
#define COLLECTOR_EMBED_H

/* Defines `name`, the text of the file at `path`, a string literal; a zero byte stands behind it.
 */
#define EMBED_TEXT(name, path)                                                                     \
    extern const char name[];                                                                      \
    __asm__(".section .rodata\n"                                                                   \
            ".global " #name "\n" #name ":\n"                                                      \
            ".incbin \"" path "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".previous\n")

#endif
