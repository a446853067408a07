/*
 * Symbolic execution of a few instructions, shared by the analyses of load-store architectures
 * (analysis_aarch64.c, analysis_arm.c): what sp, the link register and the callee-saved registers
 * hold, in terms of what they held where the simulation began.
 *
 * Invariant: a value that is not known for certain is VALUE_UNKNOWN. A decoder must know of every
 * instruction which general registers it writes; one that it does not understand ends the path.
 * Plain data of fixed size on the caller's stack, no allocation: async-signal-safe.
 */
#ifndef UNWIND_SIMULATE_H
#define UNWIND_SIMULATE_H

#include "unwind/sources.h"

enum value_kind {
    VALUE_UNKNOWN = 0,
    VALUE_ENTRY, /* what `reg` held at the beginning, plus offset */
    VALUE_SLOT,  /* the word that lay in memory at (`reg` at the beginning) + offset */
    VALUE_ZERO,
};

struct value {
    uint8_t kind, reg;
    int32_t offset;
};

/* A word stored since the beginning, at (`base` at the beginning) + offset. */
struct slot {
    int32_t offset;
    uint8_t base;
    uint8_t size; /* bytes */
    struct value value;
};

enum { SIM_REGS = 32, SIM_SLOTS = 24 };

struct sim {
    struct value reg[SIM_REGS];
    struct slot slot[SIM_SLOTS];
    uint8_t slot_count;
    uint8_t sp;
    uint8_t in_it;   /* Thumb: instructions of an IT block still to come */
    bool lossy;      /* stores were forgotten for want of room */
    bool ra_signed;  /* aarch64: the link register was signed since the beginning */
    bool ra_checked; /* aarch64: and was authenticated later */
    bool outermost;  /* frame pointer or link register were set to zero */
};

enum flow {
    FLOW_NEXT = 0,
    FLOW_CALL,     /* comes back: caller-saved registers are lost */
    FLOW_JUMP,     /* to target */
    FLOW_BRANCH,   /* to target or on */
    FLOW_RETURN,   /* to the value `ra` */
    FLOW_INDIRECT, /* to a computed address */
    FLOW_STOP,     /* never goes on, or is not understood */
};

struct step {
    enum flow flow;
    uint64_t target; /* link-time */
    struct value ra;
    uint8_t size; /* of the instruction; 0 when there was none to read */
    bool padding; /* does nothing: behind a call it says that the call does not come back */
};

/* Runs the instruction at link-time address `at`: updates *sim and says where it leads. */
typedef struct step (*simulate_instruction)(const struct unwind_image *image, uint64_t at,
                                            struct sim *sim);

struct isa {
    simulate_instruction run;
    uint8_t size;           /* bytes of every instruction; 0 where they differ */
    uint32_t call_clobbers; /* bit per register that a call does not preserve; lr among them */
};

/* The analysis itself: simulates from the function's start (where its bounds are known) to the
 * place, and from the place to a return; answers when one proves the frame and the other does not
 * contradict. `vaddr` and `exact` as for analysis_find. */
enum unwind_status simulate_find(const struct isa *isa, const struct unwind_image *image,
                                 uint64_t vaddr, bool exact, struct unwind_row *row);

/* Code that functions share: simulate_parts.c. */
enum part {
    PART_NONE,
    PART_PROLOGUE, /* makes room on the stack for its caller */
    PART_EPILOGUE, /* takes its caller's frame down */
};

/* What kind of part begins at `start`, if any. */
enum part simulate_part(const struct isa *isa, const struct unwind_image *image, uint64_t start);

/* The call in front of `next`: when it calls shared code instead of a function, runs that as if it
 * stood in the caller. */
bool simulate_shared_call(const struct isa *isa, const struct unwind_image *image, uint64_t target,
                          uint64_t next, struct sim *sim);

/* Adds to *row the registers that the way from `start` to the return keeps though calls need not,
 * where there is but one way: those who call shared code rely on it. */
void simulate_keep(const struct isa *isa, const struct unwind_image *image, uint64_t start,
                   struct unwind_row *row);

/* Whether nothing but straight code leads from `start` to `end`. */
bool simulate_is_straight(const struct isa *isa, const struct unwind_image *image, uint64_t start,
                          uint64_t end);

/* Every register holds what it held at the beginning. */
void sim_begin(struct sim *sim, const struct arch *arch);

/* For decoders. */
struct value sim_add(struct value value, int64_t amount);
void sim_set(struct sim *sim, unsigned reg, struct value value);
void sim_lose(struct sim *sim,
              unsigned reg); /* sim_set to unknown; numbers out of range do nothing */
void sim_store(struct sim *sim, struct value address, struct value value, unsigned size);
struct value sim_load(const struct sim *sim, struct value address, unsigned size);
bool sim_same(struct value a, struct value b);
/* A call: what it does not preserve is lost. */
void sim_call(struct sim *sim, const struct isa *isa);
/* It is what the register held at the beginning. */
bool sim_is_entry(struct value value, unsigned reg);
/* Two paths meet: keeps what both agree on. */
void sim_meet(struct sim *sim, const struct sim *other);

/* A bounded reader standing at the code of link-time address `at` (little-endian always: BE8). */
struct reader simulate_code(const struct unwind_image *image, uint64_t at);
/* The 32 bits there, 0 where there is no code. */
uint32_t simulate_word(const struct unwind_image *image, uint64_t at);

#endif
