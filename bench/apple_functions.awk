# Assembly of COUNT functions for x86_64 Mach-O, 15 bytes each and 16 apart: function_000000 on. Each keeps a
# frame record and calls the first word of its argument with the second (apple_stack.h).
BEGIN {
    print ".text"
    for (i = 0; i < count; i++) {
        name = sprintf("_function_%06d", i)
        print ".p2align 4"
        print ".globl " name
        print name ":"
        print ".cfi_startproc"
        print "pushq %rbp"
        print ".cfi_def_cfa_offset 16"
        print ".cfi_offset %rbp, -16"
        print "movq %rsp, %rbp"
        print ".cfi_def_cfa_register %rbp"
        print "movq (%rdi), %rax"
        print "movq 8(%rdi), %rdi"
        print "callq *%rax"
        print "popq %rbp"
        print "retq"
        print ".cfi_endproc"
    }
    print ".subsections_via_symbols"
}
