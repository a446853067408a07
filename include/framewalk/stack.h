/*
 * A call stack as Framewalk hands it out: frame addresses with their kind, how each was found, and
 * why the walk ended. Capture fills it, symbolication reads it, reports carry it.
 */
#ifndef FRAMEWALK_STACK_H
#define FRAMEWALK_STACK_H

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a frame's address means. Look `RETURN` addresses up one byte earlier; never guess. */
typedef enum fw_frame_kind {
    FW_FRAME_EXACT =
        0, /* the instruction that runs next here: innermost frame, or interrupted by a signal */
    FW_FRAME_RETURN = 1, /* the address after a call; the call itself lies before it */
} fw_frame_kind;

/* Which evidence led to this frame, most to least certain within each group. */
typedef enum fw_method {
    FW_METHOD_NONE = 0,
    FW_METHOD_REGISTERS,     /* taken from the thread's registers: the innermost frame */
    FW_METHOD_CFI,           /* .eh_frame */
    FW_METHOD_DEBUG_FRAME,   /* .debug_frame */
    FW_METHOD_EXIDX,         /* ARM exception index table */
    FW_METHOD_COMPACT,       /* Apple compact unwind */
    FW_METHOD_SIGNAL,        /* registers saved by the kernel in a signal frame */
    FW_METHOD_ANALYSIS,      /* instructions of a function without unwind information were read */
    FW_METHOD_LINK_REGISTER, /* return address still in the link register, or on top of the stack */
    FW_METHOD_FRAME_POINTER, /* frame record chain, checked */
    FW_METHOD_ASYNC,         /* chain of Swift async contexts */
} fw_method;

enum {
    /* Flags of a frame. */
    FW_FRAME_SIGNAL = 1, /* this frame is a signal trampoline; the next one was interrupted */
    FW_FRAME_ASYNC = 2,  /* a suspended Swift async function, which goes on at `address` when the
                            frame before it is done: not on the stack, found by its context */
};

struct fw_frame {
    uint64_t address;    /* pointer-authentication bits and the Thumb bit are removed */
    uint8_t kind;        /* fw_frame_kind */
    uint8_t method;      /* fw_method */
    uint8_t flags;       /* FW_FRAME_SIGNAL, FW_FRAME_ASYNC */
    uint8_t reserved[5]; /* zero */
};

/*
 * Swift async functions (Apple platforms). The callers of an async function are not on the stack it
 * runs on: that is its executor's. Behind the innermost async function on the stack, a walk goes on
 * along the chain of contexts: FW_FRAME_ASYNC frames, the functions that will go on one after the
 * other, each EXACT at its first instruction. They stand in place of the executor's frames, which
 * are not shown. The end of the chain is FW_END_ROOT; a chain that is broken ends the walk and says
 * why. A function that has no context (yet) is followed on the stack.
 */

/* Why a walk ended. Only FW_END_ROOT is a whole stack. */
typedef enum fw_end {
    FW_END_NONE = 0,
    FW_END_ROOT,        /* reached the outermost frame: the stack is whole */
    FW_END_LIMIT,       /* the caller's buffer or the frame limit was reached */
    FW_END_NO_INFO,     /* no unwind information and no trustworthy frame record */
    FW_END_BAD_MEMORY,  /* the next frame lies in memory that cannot be read */
    FW_END_LOOP,        /* the same frame, or the same async context, came twice */
    FW_END_BAD_INFO,    /* the unwind information contradicts itself */
    FW_END_NOT_CODE,    /* the next return address is not in executable memory: the stack is damaged
                           there */
    FW_END_UNAVAILABLE, /* this thread could not be captured; see fw_unavailable */
} fw_end;

/* Why a thread has no stack. */
typedef enum fw_unavailable {
    FW_AVAILABLE = 0,
    FW_UNAVAILABLE_EXITED,  /* the thread ended meanwhile */
    FW_UNAVAILABLE_BLOCKED, /* it blocks the capture signal and is running, not asleep in the kernel
                             */
    FW_UNAVAILABLE_UNINTERRUPTIBLE, /* it is in uninterruptible sleep and the kernel does not say
                                       where */
    FW_UNAVAILABLE_REPLACED,        /* somebody replaced the signal handler during the capture */
    FW_UNAVAILABLE_TIMEOUT, /* no answer in time: stopped, starved, or single-stepped by a debugger
                             */
    FW_UNAVAILABLE_PERMISSION, /* the system refused */
    FW_UNAVAILABLE_NO_ROOM,    /* the caller's memory for frames was used up */
    FW_UNAVAILABLE_FORBIDDEN,  /* the system lets nobody stop a thread (watchOS) */
} fw_unavailable;

/*
 * A stack. The caller owns `frames` and sets `frames`, `capacity` and `tail`; the rest is filled.
 *
 * When the stack is deeper than `capacity`, the innermost `capacity - tail` frames and the
 * outermost `tail` frames are kept and `omitted` counts those left out between frames[head - 1] and
 * frames[head]. With `tail` 0 the walk stops at `capacity` and `end` is FW_END_LIMIT.
 */
struct fw_stack {
    struct fw_frame *frames; /* innermost first */
    uint32_t capacity;       /* frames that `frames` has room for */
    uint32_t tail;    /* how many outermost frames to keep when it does not fit; < capacity */
    uint32_t count;   /* frames filled in */
    uint32_t head;    /* frames before the gap; == count when nothing was omitted */
    uint64_t omitted; /* frames left out of the middle */
    uint64_t id;      /* order-dependent hash of every frame address walked, omitted ones included
                         (and of which are async); two stacks of one process with the same id are
                         the same stack; where `end` is not FW_END_ROOT only as far as they were
                         walked, unless another process or a core was captured */
    uint8_t end;      /* fw_end */
    uint8_t unavailable; /* fw_unavailable, when end is FW_END_UNAVAILABLE */
    uint8_t reserved[6]; /* zero */
};

/* Constant English phrases. Async-signal-safe, thread-safe. */
FW_API const char *fw_method_text(fw_method method);
FW_API const char *fw_end_text(fw_end end);
FW_API const char *fw_unavailable_text(fw_unavailable reason);

#ifdef __cplusplus
}
#endif
#endif
