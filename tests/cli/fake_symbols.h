/*
 * Debug information for the canned threads of fake_process.h, behind framewalk/symbolicate.h and
 * cli/frame_sources.h. "hang" has some; what libc has is damaged; nothing else has any.
 */
#ifndef TESTS_CLI_FAKE_SYMBOLS_H
#define TESTS_CLI_FAKE_SYMBOLS_H

/* How many sources and answers are there: every one must be given back. */
int fake_symbols_open(void);

/* How often one pair of an address and its caller was asked, at the most, since the last time. */
int fake_symbols_most_asked(void);

#endif
