/*
 * What the parts of the Mach-O host share.
 *
 * Invariants:
 * - Code of Mach-O images enters the loader's C code by machhost_enter alone, which notes the
 *   caller's registers in the thread's record. A thread that is stopped in the loader's code is
 *   shown to others with those registers, as a thread in a system call is.
 * - A thread never parks while it holds a lock of the loader (it is `critical` then).
 * - Threads are never freed: a program in the host is a test and ends soon.
 */
#ifndef MACHHOST_INTERNAL_H
#define MACHHOST_INTERNAL_H

#ifdef __ASSEMBLER__
#define RECORD_IN_HOST 0
#define RECORD_CALL    8
#define RECORD_SP      16
#define RECORD_FP      24
#define RECORD_LR      32
#define RECORD_SAVED   40
#define RECORD_HOLDING 120
#define RECORD_TLV     128
#define RECORD_SHIM    144
#else

#include <mach-o/loader.h>
#if defined(__x86_64__)
#include <mach/i386/_structs.h>
#else
#include <mach/arm/_structs.h>
#endif
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order of exports.def. */
#define CALL(name)        INDEX_##name,
#define SAFE(name)        INDEX_##name,
#define VARI(name, fixed) INDEX_##name,
#define LONG(name)        INDEX_##name,
#define DATA(name)
enum {
#include "../exports.def"
    INDEX_COUNT
};
#undef CALL
#undef SAFE
#undef VARI
#undef LONG
#undef DATA

enum { CALL_FIXED = 7, CALL_STACK = 8, CALL_SAFE = 16 };
/* 32 bytes, which the assembler code knows. */
struct call {
    void *shim;
    uint64_t flags; /* CALL_FIXED: how many arguments come before the variable ones */
    uint64_t made;  /* how often it was called */
    const char *name;
};
extern struct call machhost_table[INDEX_COUNT];

/* What the assembler code notes of a thread; the offsets are those above. */
struct record {
    uint64_t in_host; /* the thread is in the loader, called from Mach-O code */
    uint64_t call;    /* what it called, or called last */
    uint64_t sp;      /* at the thunk */
    uint64_t fp;
    uint64_t lr;        /* arm64 only */
    uint64_t saved[10]; /* x19 to x28, or rbx, r12 to r15 */
    uint64_t holding;   /* how many threads it holds suspended */
    char *tlv;          /* its copies of thread-local variables, by key */
    struct thread *thread;
    void *shim;
};
extern __thread struct record machhost_record;

enum { TSD_LIMIT = 256, TLV_LIMIT = 256, FAULT_LIMIT = 16 };

/* What pthread_t points to. */
struct thread {
    _Atomic uint32_t stop; /* STOP_*: suspend count and whether it is parked */
    uint32_t critical;     /* locks of the loader that it holds */
    uint32_t deferred;     /* signals that came while it held some, by Darwin's number */
    int tid;
    uint32_t port;
    uint32_t rights; /* user references beside libpthread's own */
    bool dead;
    bool detached;
    bool main;
    const ucontext_t *parked; /* while parked: the registers */
    const struct record *record;
    uint64_t stopped_since; /* when it parked, ns */
    uint64_t id;
    char *stack_top;
    size_t stack_size;
    char name[64];
    void *(*start)(void *);
    void *argument;
    void *result;
    unsigned long linux_thread;
    sigset_t mask; /* signals blocked when the program's code begins; before, all are */
    _Atomic uint32_t started;
    void *signal_stack; /* the loader's own */
    void *queue;        /* of libdispatch, that it serves */
    void *tsd[TSD_LIMIT];
    char *tlv[TLV_LIMIT];
    struct {
        void *sp;
        size_t size;
        bool enabled;
    } altstack; /* the program's */
    uint32_t darwin_mask;
    struct thread *next;
};
enum { STOP_PARKED = 1, STOP_RETRY = 2, STOP_DEAD = 4, STOP_ONE = 256 };

/* Registers as Mach sees them. */
struct registers {
    uint64_t pc, sp, fp, lr;
    uint64_t x[29]; /* arm64: x0 to x28; x86_64: as numbered by DWARF */
    uint64_t flags;
};

/* And as programs see them. */
#if defined(__x86_64__)
typedef _STRUCT_X86_THREAD_STATE64 darwin_state;
#else
typedef _STRUCT_ARM_THREAD_STATE64 darwin_state;
#endif

struct image {
    const struct mach_header_64 *header;
    intptr_t slide;
    char *path;
    char *install_name;
    uint64_t low, high; /* of all segments, slid */
    uint64_t text_low, text_high;
    const struct segment_command_64 *linkedit;
    const struct symtab_command *symtab;
    const char *export_trie;
    uint64_t export_size;
    struct image *needed[32];
    unsigned needed_count;
    bool weak_needed[32];
    unsigned references;
    bool initialised;
    bool listed;
    bool main;
    const char *tlv_start;
    uint64_t tlv_size;
};

/* enter_*.S */
void machhost_enter(void);
void machhost_tlv_get(void);
struct callout {
    void *function;
    uint64_t arguments[4];
    uint64_t fp, ra;  /* the frame that seems to call */
    void *sp;         /* another stack, or NULL */
    void *trampoline; /* by name in libSystem or dyld */
    struct record saved;
};
uint64_t machhost_callout(struct callout *callout);
extern const char machhost_asm_first[], machhost_asm_last[], machhost_enter_noted[];

/* images.c */
struct image *image_load(const char *path, const struct image *from);
bool image_unload(struct image *image);
void image_initialise(struct image *image);
void *image_symbol(const struct image *image, const char *name);
struct image *image_of(uint64_t address);
bool image_text(uint64_t pc);
void *system_symbol(const char *name);
void images_start(const char *system_folder, const char *program);
extern struct image *image_system, *image_dyld, *image_main;
extern uint64_t machhost_thunks[INDEX_COUNT];
void images_task_info(uint64_t info[2]);
extern const char *images_error;

/* dyld.c */
void images_announce(void);

/* fixups.c */
const char *fixups_apply(struct image *image, uint64_t (*bind)(struct image *, int ordinal,
                                                               bool weak, const char *name));

/* threads.c */
void *machhost_tlv_slow(const uint64_t *descriptor);
size_t tlv_register(struct image *image);
void tlv_release(const struct image *image);
void threads_start(void);
struct thread *thread_self(void);
extern struct thread *machhost_threads;
uint64_t callback(void *function, uint64_t a, uint64_t b, uint64_t c);
int run_main(void *function, int argc, char **argv, char **envp, const char **apple);
void lock(void);
void unlock(void);
void futex_wait(const _Atomic uint32_t *word, uint32_t value, const struct timespec *span);
void futex_wake(_Atomic uint32_t *word, int count);

/* stop.c */
void stop_start(void);
void stop_handler(int signal, siginfo_t *info, void *context);
bool context_registers(const ucontext_t *context, const struct record *record,
                       struct registers *registers);
void registers_show(const struct registers *registers, darwin_state *state);
int stop_signal(void);
uint64_t now_ns(void);

/* mach.c and control.c */
unsigned machhost_report(void);
int injected(unsigned index);
void machhost_forbidden(uint64_t index) __attribute__((noreturn));
void describe_registers(const struct registers *registers);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define INJECT(name)                                                                               \
    do {                                                                                           \
        const int injected_result = injected(INDEX_##name);                                        \
        if (injected_result)                                                                       \
            return injected_result;                                                                \
    } while (0)

/* signals.c */
void signals_start(void);
void signals_thread_start(struct thread *thread);
void signals_deferred(struct thread *self);
int darwin_errno(int error);
int darwin_signal(int number);

/* libc.c: NULL for all. */
void run_exit_functions(const struct image *image);
void host_exit(int status) __attribute__((noreturn));

#endif
#endif
