/*
 * What the host does around the calls: injected errors, hooks, and the end of a program that calls
 * what it must not while it holds other threads suspended.
 */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One line on stderr, by write: callers may hold other threads suspended. */
void say(const char *format, ...)
{
    char text[600] = "machhost: ";
    va_list args;
    va_start(args, format);
    vsnprintf(text + 10, sizeof(text) - 11, format, args);
    va_end(args);
    strcat(text, "\n");
    (void)!write(2, text, strlen(text));
}

static void describe_place(const char *what, uint64_t address)
{
    const struct image *image = image_of(address);
    if (!image) {
        say("  %s 0x%lx", what, (unsigned long)address);
        return;
    }
    say("  %s 0x%lx = %s + 0x%lx (unslid 0x%lx)", what, (unsigned long)address, image->path,
        (unsigned long)(address - (uint64_t)(uintptr_t)image->header),
        (unsigned long)(address - (uint64_t)image->slide));
}

void describe_registers(const struct registers *r)
{
    describe_place("pc", r->pc);
#if !defined(__x86_64__)
    describe_place("lr", r->lr);
#endif
    say("  sp 0x%lx fp 0x%lx", (unsigned long)r->sp, (unsigned long)r->fp);
    uint64_t fp = r->fp;
    const struct thread *self = thread_self();
    const uint64_t top = (uint64_t)(uintptr_t)self->stack_top;
    for (int i = 0; i < 20 && fp >= r->sp && fp + 16 <= top && fp % 8 == 0; i++) {
        const uint64_t *pair = (const uint64_t *)(uintptr_t)fp;
        describe_place("from", pair[1] & 0x7fffffffffff);
        if (pair[0] <= fp)
            break;
        fp = pair[0];
    }
}

void machhost_forbidden(uint64_t index)
{
    say("%s was called while %lu other threads were held suspended: forbidden",
        machhost_table[index].name, (unsigned long)machhost_record.holding);
    struct registers registers = {
        .sp = machhost_record.sp,
        .fp = machhost_record.fp,
#if defined(__x86_64__)
        .pc = *(const uint64_t *)(uintptr_t)machhost_record.sp,
#else
        .pc = machhost_record.lr,
        .lr = machhost_record.lr,
#endif
    };
    describe_registers(&registers);
    _exit(98);
}

struct fault {
    bool always, armed;
    int result;
    uint64_t at; /* the count of calls at which it happens */
};
static struct fault faults[INDEX_COUNT];
struct hook {
    void *function, *argument;
    uint64_t at;
};
static struct hook hooks[INDEX_COUNT];

static unsigned index_of(const char *name)
{
    for (unsigned i = 0; i < INDEX_COUNT; i++) {
        if (strcmp(machhost_table[i].name, name) == 0)
            return i;
    }
    say("host.h: there is no call named %s", name);
    abort();
}

/* What happens at this call of a Mach function, which is counted already. */
int injected(unsigned index)
{
    const uint64_t made = __atomic_load_n(&machhost_table[index].made, __ATOMIC_RELAXED);
    struct hook *hook = &hooks[index];
    if (hook->function && made >= hook->at) {
        void *const function = hook->function;
        const uint64_t holding = machhost_record.holding;
        hook->function = NULL;
        machhost_record.holding = 0;
        callback(function, (uint64_t)(uintptr_t)hook->argument, 0, 0);
        machhost_record.holding = holding;
    }
    struct fault *fault = &faults[index];
    if (fault->always)
        return fault->result;
    if (!fault->armed || made < fault->at)
        return 0;
    fault->armed = false;
    return fault->result;
}

void shim_machhost_fail(const char *call, unsigned after, int result)
{
    const unsigned index = index_of(call);
    faults[index] = (struct fault){
        .armed = true, .result = result, .at = machhost_table[index].made + after + 1};
}

void shim_machhost_fail_all(const char *call, int result)
{
    faults[index_of(call)] = (struct fault){.always = result != 0, .result = result};
}

void shim_machhost_before(const char *call, unsigned after, void *function, void *argument)
{
    const unsigned index = index_of(call);
    hooks[index] = (struct hook){function, argument, machhost_table[index].made + after + 1};
}

uint64_t shim_machhost_calls(const char *call)
{
    return machhost_table[index_of(call)].made;
}

unsigned shim_machhost_check(void)
{
    return machhost_report();
}
