/*
 * System calls that fail, or that the process does not survive, on demand: programs are linked so
 * that those of the code under test come from here (fw_sys_options in tests/watch/tests.cmake).
 * They are counted, and the n-th has the fault.
 */
#ifndef TESTS_SUPPORT_SYS_FAIL_H
#define TESTS_SUPPORT_SYS_FAIL_H

enum sys_fault {
    SYS_FAIL,       /* it fails with `error`; those after it do not */
    SYS_FAIL_LATER, /* it and all later ones of that name fail */
    SYS_SHORT,      /* a write: half of it, and the rest fails with `error`; others: SYS_FAIL */
    SYS_DIE,        /* the process is killed before it */
    SYS_DIE_HALF,   /* a write: half of it, then the process is killed; others: killed behind it */
};

/* From now on the n-th call (1 = the next) has the fault; 0: none has. */
void sys_fault_at(long n, enum sys_fault fault, int error);
/* Name of the n-th call since then; NULL beyond the last, or the 512th. */
const char *sys_call(long n);
/* Name of the call that had the fault; NULL: none had it. */
const char *sys_faulted(void);

#endif
