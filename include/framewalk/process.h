/*
 * Capture: the threads of another process, or of a core file.
 *
 * A live process is read with ptrace: each thread is stopped, its registers and stack bytes copied
 * in bulk, and released; the walk happens afterwards. The process is left exactly as found: what
 * was stopped stays stopped, signals are not lost. These functions allocate; none is
 * async-signal-safe. One fw_process is used from one thread at a time.
 *
 * What a stopped thread may notice: a system call that the kernel does not resume after a stop
 * (signal(7): epoll_wait, semop, sigtimedwait, ...) returns EINTR early, as after SIGSTOP and
 * SIGCONT. Most, nanosleep, futex and poll among them, go on.
 *
 * ptrace reports each stop to this program as a change of a child: while a capture runs, another
 * thread must not reap with waitpid(-1), and a SIGCHLD handler sees calls without a child.
 */
#ifndef FRAMEWALK_PROCESS_H
#define FRAMEWALK_PROCESS_H

#include "threads.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fw_process;

/* A live process by id: any thread's id will do. */
FW_API fw_error fw_process_open(int32_t pid, struct fw_process **process, struct fw_failure *why);

/* A core file. `executable` may be NULL: found through the core's own notes. `sysroot` (optional)
 * is a folder under which the process's files are looked for. FW_ERR_FORMAT when `executable` is
 * another program than that of the core. */
FW_API fw_error fw_process_open_core(const char *core, const char *executable, const char *sysroot,
                                     struct fw_process **process, struct fw_failure *why);

FW_API void fw_process_close(struct fw_process *process);

struct fw_process_options {
    size_t size;          /* sizeof(struct fw_process_options) */
    uint32_t max_frames;  /* per thread; 0 = 1024 */
    uint32_t stack_bytes; /* of stack copied per thread while it is stopped; 0 = 256 KB. A thread
                             whose walk needs more (deep recursion, a signal handler on another
                             stack) is stopped and copied again, up to 64 MB */
    uint32_t timeout_ms;  /* bound for one thread to stop; 0 = 500 */
    bool consistent;      /* stop all threads first, release them together: one moment for all */
    uint8_t reserved[3];  /* zero */
    fw_thread_id only;    /* this thread alone; 0 = all */
    /* Called after each thread (done of total), on a thread of the library while the caller
     * waits; may be NULL. */
    void (*progress)(void *context, size_t done, size_t total);
    void *context;
};

struct fw_process_thread {
    struct fw_thread thread; /* stack.frames belongs to the fw_process */
    uint64_t pause_ns; /* by the clock, from asking the thread to stop until it was released; 0 for
                          a core */
    char wait_channel[64]; /* what it waits for in the kernel ("futex_wait_queue"), "" when unknown
                            */
    int32_t signal;        /* core: the signal that killed this thread, else 0 */
    uint8_t reserved[4];
};

/* Captures. The result belongs to `process`, until the next capture or close. Threads that start or
 * end meanwhile are followed: no thread that lived through the whole capture is missing. On an
 * error *threads holds what was captured until then: FW_ERR_VANISHED, the process ended meanwhile;
 * FW_ERR_TRUNCATED, the core has no stack of any thread; FW_ERR_PERMISSION, none may be traced. */
FW_API fw_error fw_process_capture(struct fw_process *process,
                                   const struct fw_process_options *options,
                                   const struct fw_process_thread **threads, size_t *count,
                                   struct fw_failure *why);

/* Could the file of an image be had? Else what lies in memory has to do, if anything. */
typedef enum fw_image_file {
    FW_IMAGE_FILE_READ = 0,
    FW_IMAGE_FILE_GONE,  /* not at its path, or it may not be read */
    FW_IMAGE_FILE_OTHER, /* a file is there, but it is not the one that was mapped */
} fw_image_file;

struct fw_symbol {
    const char *name;  /* mangled; NULL when nothing is known: then show image and image_offset */
    uint64_t offset;   /* address - start of the function */
    const char *image; /* path of the image as the process sees it, or "[vdso]"; NULL for none (JIT,
                          garbage) */
    uint64_t image_offset; /* address as the image's file has it (link-time address) */
    const uint8_t *build_id;
    size_t build_id_size; /* 0 when the image has none */
    const char *file;     /* source file, NULL until debug information is read */
    uint32_t line;        /* 0 when unknown */
    bool plt;             /* `name` is the function that this stub leads to */
    uint8_t image_file;   /* fw_image_file */
    uint8_t reserved[2];
};

/* The name of a frame's address (kind is honoured: return addresses are looked up one byte
 * earlier). All pointers live until fw_process_close. FW_OK also when only the image is known. */
FW_API fw_error fw_process_symbol(struct fw_process *process, const struct fw_frame *frame,
                                  struct fw_symbol *symbol);

/* What was learnt about the process. Strings live until fw_process_close. */
struct fw_process_info {
    int32_t pid;
    const char *executable; /* path as the process sees it */
    const char *arch;       /* "x86_64", ... */
    const char *command;    /* command line, arguments separated by spaces; a core has its first 80
                               bytes */
    bool truncated;         /* core: the file ends before its contents do */
    uint8_t reserved[7];
    uint64_t missing_bytes; /* of memory that the core says it holds, and does not */
};
FW_API void fw_process_describe(const struct fw_process *process, struct fw_process_info *info);

#ifdef __cplusplus
}
#endif
#endif
