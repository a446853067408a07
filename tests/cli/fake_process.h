/*
 * A process made of canned threads behind the interface of framewalk/process.h: what it answers is
 * chosen by the process id, or by the name of the core file.
 */
#ifndef TESTS_CLI_FAKE_PROCESS_H
#define TESTS_CLI_FAKE_PROCESS_H

enum {
    FAKE_WHOLE = 100,      /* two threads, all is well */
    FAKE_ODD = 101,        /* everything that can be strange about a stack */
    FAKE_POOL = 102,       /* 64 workers at the same place among others */
    FAKE_SAMPLED = 103,    /* another stack at every second capture */
    FAKE_MISSING = 104,    /* there is no such process */
    FAKE_DENIED = 105,     /* the system refuses */
    FAKE_VANISHING = 106,  /* ends during the capture, after one thread */
    FAKE_SHORTLIVED = 107, /* ends at the third capture */
};

/* Core files: "whole.core", "truncated.core", "program" (no core), "absent". */

/* How many fw_process are open: every one must be closed. */
int fake_open_count(void);

#endif
