/*
 * The Framewalk report: an append-only file of checksummed records. docs/report-format.md is the
 * specification, docs/framewalk-report.proto the payloads (proto3: any language can read and write
 * them).
 *
 *   file    = magic "FWREPRT\n", then records
 *   record  = u32 size of the payload | u8 type | u8 flags (0) | u16 zero | u32 CRC-32C of the
 * eight bytes before and of the payload | payload, padded with zeros to a multiple of 4 (all
 * little-endian)
 *
 * A report is valid up to its last whole record. FWR_END is the last one of a report whose writer
 * could finish it. Numbers of images, stacks, APIs count from 1 in the order in which records bring
 * them; 0 is none. Readers skip records of unknown type and fields of unknown number.
 */
#ifndef REPORT_FWR_H
#define REPORT_FWR_H

#include "framewalk/error.h"
#include "framewalk/stack.h"

#include <stdbool.h>

#define FWR_MAGIC "FWREPRT\n"

enum {
    FWR_MAGIC_SIZE = 8,
    FWR_RECORD_HEAD = 12,
    FWR_MAX_PAYLOAD = 1 << 20, /* of one record: readers refuse larger ones, writers split */
    FWR_ID_BYTES = 16,
    FWR_STACK_FRAMES = 512, /* of one stack; outer ones are cut, and the stack says so */
};

enum fwr_type {
    FWR_ABOUT = 1, /* first: report id, kind, when, app, system */
    FWR_KEYS,      /* the program's own keys */
    FWR_IMAGES,    /* images, appended to the list */
    FWR_STACKS,    /* stacks, appended to the list, as a tree of frames */
    FWR_THREADS,   /* threads with their stacks, at one moment */
    FWR_HANG,      /* a hang has passed its threshold */
    FWR_SAMPLES,   /* stacks of the hanging thread, with times and weights */
    FWR_HANG_END,  /* how long it took, and how it ended */
    FWR_APIS,      /* names of watched functions, appended to the list */
    FWR_CALLS,     /* calls, by API and stack */
    FWR_SCRIPTS,   /* stacks of an interpreter (Python), beside a sample */
    FWR_SYMBOLS,   /* names of code: just-in-time compiled, or of the program's own images */
    FWR_TOTALS,    /* counters of the writer: samples, vetoed, annealed, evicted, dropped */
    FWR_END,       /* nothing follows */
};

enum fwr_kind { FWR_KIND_HANG = 1, FWR_KIND_CALLS = 2, FWR_KIND_SNAPSHOT = 3 };

enum fwr_ending {                      /* of a hang */
                  FWR_ENDING_NONE = 0, /* not known: the report breaks off */
                  FWR_RECOVERED,       /* the thread came back */
                  FWR_KILLED,          /* the process ended while it hung; found at a later start */
                  FWR_STOPPED,         /* the monitor was stopped, or the process exited in order */
                  FWR_VETOED,          /* later found to be none (enum fw_hang_veto tells why) */
};

#endif
