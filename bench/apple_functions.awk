# Assembly of COUNT functions for x86_64 Mach-O, 32 bytes apart: function_000000 on. Each keeps a frame record,
# has a frame of one of eight sizes, 88 bytes on average with the record and its return address, and calls the
# first word of its argument with the second (apple_stack.h).
BEGIN {
    sizes = split("16 48 96 32 160 64 16 144", size)
    print ".text"
    for (i = 0; i < count; i++) {
        name = sprintf("_function_%06d", i)
        print ".p2align 5"
        print ".globl " name
        print name ":"
        print ".cfi_startproc"
        print "pushq %rbp"
        print ".cfi_def_cfa_offset 16"
        print ".cfi_offset %rbp, -16"
        print "movq %rsp, %rbp"
        print ".cfi_def_cfa_register %rbp"
        print "subq $" size[i % sizes + 1] ", %rsp"
        print "movq (%rdi), %rax"
        print "movq 8(%rdi), %rdi"
        print "callq *%rax"
        print "leave"
        print "retq"
        print ".cfi_endproc"
    }
    print ".subsections_via_symbols"
}
