/*
 * The thunks (thunks.h) for i386. Arguments are on the stack, or in eax, edx and ecx (regparm,
 * fastcall), and vector ones in registers; ebx may point to the caller's linkage table. No register
 * is free, so the number goes to the stack, where the target replaces it for the last `ret`.
 */
#if defined(__i386__)

#include "watch/thunk_asm.h"
#include "watch/thunks.h"

        TEXT
        FUNCTION(calls_thunk_first)
        HIDDEN(calls_thunk_first)
        .p2align 4
SYMBOL(calls_thunk_first):
        .cfi_startproc
        .set thunk, 0
        .rept CALLS_THUNKS
        .p2align 4
        endbr32
        pushl $thunk
        .cfi_adjust_cfa_offset 4
        jmp LOCAL(common)
        .cfi_adjust_cfa_offset -4
        .set thunk, thunk + 1
        .endr

        .p2align 4
LOCAL(common):
        .cfi_adjust_cfa_offset 4
        pushl %edx
        .cfi_adjust_cfa_offset 4
        pushl %ecx
        .cfi_adjust_cfa_offset 4
        pushl %eax
        .cfi_adjust_cfa_offset 4
        pushl %ebp
        .cfi_adjust_cfa_offset 4
        .cfi_offset %ebp, -24
        movl %esp, %ebp
        .cfi_def_cfa_register %ebp
        pushl %edi
        pushl %esi
        pushl %ebx
        movl %esp, %esi
#if defined(__APPLE__) /* vectors of 256 bits are no arguments in such old programs */
        subl $512, %esp
        andl $-64, %esp
        fxsave (%esp)
        movl %esp, %edi
        subl $12, %esp
        pushl %esi
        call SYMBOL(calls_slow)
        movl %eax, 28(%esi) /* the target, in place of the number */
        fxrstor (%edi)
#else
        call 3f
3:      popl %ebx
        addl $_GLOBAL_OFFSET_TABLE_ + (. - 3b), %ebx
        movl calls_vector_bytes@GOTOFF(%ebx), %eax
        subl %eax, %esp
        andl $-64, %esp
        movl calls_vector_mask@GOTOFF(%ebx), %eax
        testl %eax, %eax
        jz 1f
        xorl %edx, %edx
        movl $16, %ecx
        leal 512(%esp), %edi
4:      movl %edx, -4(%edi,%ecx,4)
        decl %ecx
        jnz 4b
        xsave (%esp)
        jmp 2f
1:      fxsave (%esp)
2:      movl %esp, %edi
        subl $12, %esp
        pushl %esi
        call SYMBOL(calls_slow)
        movl %eax, 28(%esi) /* the target, in place of the number */
        movl calls_vector_mask@GOTOFF(%ebx), %eax
        testl %eax, %eax
        jz 1f
        xorl %edx, %edx
        xrstor (%edi)
        jmp 2f
1:      fxrstor (%edi)
2:
#endif
        leal -12(%ebp), %esp
        popl %ebx
        popl %esi
        popl %edi
        popl %ebp
        .cfi_def_cfa %esp, 20
        .cfi_restore %ebp
        popl %eax
        .cfi_adjust_cfa_offset -4
        popl %ecx
        .cfi_adjust_cfa_offset -4
        popl %edx
        .cfi_adjust_cfa_offset -4
        ret
        .cfi_endproc
        SIZE(calls_thunk_first)

        FUNCTION(calls_thunk_return)
        HIDDEN(calls_thunk_return)
        .p2align 4
SYMBOL(calls_thunk_return):
        .cfi_startproc
        endbr32
        ret
        .cfi_endproc
        SIZE(calls_thunk_return)
#endif
#if defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
