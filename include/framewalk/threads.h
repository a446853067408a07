/*
 * Capture: another thread, or all threads, of this process.
 *
 * Linux: a thread is captured by a directed real-time signal, chosen at run time among those nobody
 * uses; its handler walks the thread's own stack into a slot prepared beforehand and returns
 * without waiting for anybody. A thread that cannot answer (it blocks the signal, sleeps
 * uninterruptibly) but is asleep in the kernel is captured from its saved stack pointer and a copy
 * of its stack.
 *
 * Apple: a thread is suspended, its registers and the bytes of its stack are copied into memory
 * prepared beforehand, it is resumed, and the copy is walked. Where threads may not be suspended
 * (watchOS) other threads are unavailable.
 *
 * Either way a stack that cannot be had says FW_END_UNAVAILABLE and why. Every wait is bounded.
 *
 * Thread-safe: any number of callers at once. NOT async-signal-safe. On Linux no function of this
 * header allocates, takes the malloc, loader or stdio lock, or needs another thread to make
 * progress: a thread that hangs inside dlopen() is captured like any other. On Apple that holds
 * while a thread is suspended; before, libpthread's list of threads is read under its lock. So they
 * do not call fw_images_refresh; that is the caller's to do where it is needed at all.
 *
 * What a captured thread notices on Linux: a system call that the kernel does not restart after a
 * handler (signal(7): nanosleep, poll, epoll_wait, ... ) returns EINTR early, as after any signal.
 * The handler walks on a stack of its own: of the thread's, or of its alternate one, it takes less
 * than 1 KB beside the kernel's own frame (sysconf(_SC_MINSIGSTKSZ)).
 */
#ifndef FRAMEWALK_THREADS_H
#define FRAMEWALK_THREADS_H

#include "stack.h"

#include <stdbool.h>
#if defined(__APPLE__)
#include <pthread.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__APPLE__)
typedef uint32_t fw_thread_id; /* name of the thread's Mach port, as pthread_mach_thread_np() gives
                                  it; valid as long as the thread lives */
#else
typedef int32_t fw_thread_id; /* as gettid() gives it */
#endif

enum { FW_THREAD_NAME_SIZE = 64, FW_QUEUE_LABEL_SIZE = 64 };

struct fw_thread {
    fw_thread_id id;
    char state; /* just before the capture: R running, S sleeping, D uninterruptible, T stopped, t
                   traced, Z dead, ? unknown */
    bool is_main;
    bool is_self;        /* the calling thread */
    uint8_t reserved[1]; /* zero */
    uint64_t system_id;  /* by which other tools call it: Linux: id; Apple: pthread_threadid_np() */
    char name[FW_THREAD_NAME_SIZE];  /* always terminated */
    char queue[FW_QUEUE_LABEL_SIZE]; /* label of the dispatch queue that it serves; "" for none */
    uint64_t held_ns; /* how long the capture held the thread: time inside the handler, or
                         suspended; 0 when not held */
    struct fw_stack stack;
};

struct fw_threads_options {
    size_t size;         /* sizeof(struct fw_threads_options) */
    uint32_t frames;     /* frames stored per thread at the most; 0 = 128, at most 256 */
    uint32_t tail;       /* of these, outermost ones kept for deeper stacks; 0 = frames / 4 */
    uint32_t timeout_ms; /* bound for one thread's answer; 0 = 200 */
    bool skip_self;      /* leave the calling thread out */
    bool skip_names;     /* do not read names, states and queues (one /proc read a thread) */
    bool at_once;        /* stop all threads together, for stacks of one moment (Apple; elsewhere
                            FW_ERR_UNSUPPORTED); else one after the other, each as briefly as can be */
    uint8_t reserved[5]; /* zero */
};

/*
 * Fills `ids` with up to `capacity` ids of this process's threads; *count is how many there are,
 * which may be more than `capacity` (then FW_ERR_MEMORY, and the first `capacity` are filled in).
 * Threads that start or end meanwhile may or may not be among them.
 */
FW_API fw_error fw_threads_list(fw_thread_id *ids, size_t capacity, size_t *count);

/* One thread of this process, or the calling one. `thread->stack.frames` and `.capacity` are the
 * caller's; options may be NULL. FW_ERR_NOT_FOUND when there is no such thread; FW_OK also when its
 * stack is unavailable (it says why). */
FW_API fw_error fw_thread_capture(fw_thread_id id, struct fw_thread *thread,
                                  const struct fw_threads_options *options);

/*
 * All threads. `threads` has room for `capacity`; `frames` is memory for `frame_capacity` frames
 * that is dealt out to them. *count is how many threads there are; when it is more than `capacity`,
 * FW_ERR_MEMORY and the first `capacity` are captured. A thread for which no frames were left is in
 * the list, unavailable (FW_UNAVAILABLE_NO_ROOM).
 */
FW_API fw_error fw_threads_capture(struct fw_thread *threads, size_t capacity, size_t *count,
                                   struct fw_frame *frames, size_t frame_capacity,
                                   const struct fw_threads_options *options);

/* The calling thread and the one that the process began with. Async-signal-safe. On Apple, known
 * from when the library was loaded. */
FW_API fw_thread_id fw_thread_self(void);
FW_API fw_thread_id fw_thread_main(void);

#if defined(__APPLE__)
/* The id of a thread that has not been joined, or detached and ended. No right to its port is left
 * with the caller. */
FW_API fw_thread_id fw_thread_of_pthread(pthread_t thread);
#endif

/* The real-time signal in use, or 0 before the first capture. `fw_threads_set_signal` asks for a
 * certain one (SIGRTMIN..SIGRTMAX, or 0 to choose); FW_ERR_ARGUMENT when it is not a real-time
 * signal or somebody handles it. On Apple none is used: 0 and FW_ERR_UNSUPPORTED. */
FW_API int fw_threads_signal(void);
FW_API fw_error fw_threads_set_signal(int signal);

#ifdef __cplusplus
}
#endif
#endif
