/*
 * The threads of this process as Mach and libpthread tell (os/threads.h): task_threads(),
 * thread_info(), pthread_getname_np().
 *
 * Invariant: every right to a port that the kernel hands out is either kept for the caller, who
 * gives it back by os_thread_release, or given back at once; so is the array that they come in.
 */
#include "os/threads.h"

#include "os/darwin/queue_label.h"

#include <mach/mach.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

fw_error os_threads_each(os_thread_call *each, void *context)
{
    thread_act_array_t list;
    mach_msg_type_number_t count;
    kern_return_t error = task_threads(mach_task_self(), &list, &count);
    if (error != KERN_SUCCESS)
        return error == KERN_NO_ACCESS || error == KERN_PROTECTION_FAILURE ? FW_ERR_PERMISSION
                                                                           : FW_ERR_SYSTEM;
    for (mach_msg_type_number_t i = 0; i < count; i++)
        if (MACH_PORT_VALID(list[i]) && !each(context, 0, list[i])) /* invalid: it has ended */
            os_thread_release(list[i]);
    vm_deallocate(mach_task_self(), (vm_address_t)list, count * sizeof *list);
    return FW_OK;
}

static bool keep_if_same(void *context, unsigned pass, fw_thread_id id)
{
    fw_thread_id *wanted = context;
    (void)pass;
    if (id != *wanted)
        return false;
    *wanted = MACH_PORT_NULL;
    return true;
}

/* An id may be any number: it is looked for among the threads. The kernel would take a port of
 * another kind for one that a server answers at, and wait for it. */
bool os_thread_keep(fw_thread_id id)
{
    return id != MACH_PORT_NULL && os_threads_each(keep_if_same, &id) == FW_OK &&
           id == MACH_PORT_NULL;
}

void os_thread_release(fw_thread_id id)
{
    mach_port_deallocate(mach_task_self(), id);
}

static char state_letter(const thread_basic_info_data_t *info)
{
    if (info->suspend_count > 0)
        return 'T';
    switch (info->run_state) {
    case TH_STATE_RUNNING: return 'R';
    case TH_STATE_STOPPED: return 'T';
    case TH_STATE_WAITING: return 'S';
    case TH_STATE_UNINTERRUPTIBLE: return 'D';
    case TH_STATE_HALTED: return 'Z';
    default: return '?';
    }
}

/* As on Linux, the main thread goes by the program's name until it is given another. */
static void read_name(struct fw_thread *thread)
{
    pthread_t pthread = pthread_from_mach_thread_np(thread->id);
    if (!pthread || pthread_getname_np(pthread, thread->name, sizeof thread->name) != 0)
        thread->name[0] = 0;
    const char *program = thread->is_main && !thread->name[0] ? getprogname() : NULL;
    if (program)
        strlcpy(thread->name, program, sizeof thread->name);
}

void os_thread_describe(struct fw_thread *thread, bool names)
{
    thread_identifier_info_data_t identity;
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    bool known = thread_info(thread->id, THREAD_IDENTIFIER_INFO, (thread_info_t)&identity,
                             &count) == KERN_SUCCESS;
    if (known)
        thread->system_id = identity.thread_id;
    if (!names)
        return;
    thread_basic_info_data_t basic;
    count = THREAD_BASIC_INFO_COUNT;
    if (thread_info(thread->id, THREAD_BASIC_INFO, (thread_info_t)&basic, &count) == KERN_SUCCESS)
        thread->state = state_letter(&basic);
    read_name(thread);
    if (known)
        queue_label_read((uintptr_t)identity.dispatch_qaddr, thread->queue, sizeof thread->queue);
}

fw_thread_id fw_thread_of_pthread(pthread_t thread)
{
    return pthread_mach_thread_np(thread);
}

/* libpthread keeps the right to each thread's port, and lends its name. */
fw_thread_id fw_thread_self(void)
{
    return pthread_mach_thread_np(pthread_self());
}

static _Atomic fw_thread_id main_thread;

struct oldest {
    fw_thread_id id;
    uint64_t system_id;
};

/* Numbers of threads only grow. */
static bool note_oldest(void *context, unsigned pass, fw_thread_id id)
{
    struct oldest *oldest = context;
    struct fw_thread thread = {.id = id};
    (void)pass;
    os_thread_describe(&thread, false);
    if (thread.system_id && (!oldest->id || thread.system_id < oldest->system_id))
        *oldest = (struct oldest){id, thread.system_id};
    return false;
}

/* The main thread runs the constructors of what is linked into the program; a library that is
 * loaded later, by any thread, takes the oldest for it. */
static __attribute__((constructor)) void learn_main_thread(void)
{
    struct oldest oldest = {MACH_PORT_NULL, 0};
    if (pthread_main_np())
        oldest.id = fw_thread_self();
    else
        os_threads_each(note_oldest, &oldest);
    atomic_store(&main_thread, oldest.id);
}

/* The thread that called fork() is the child's main thread, under a new name. */
fw_thread_id fw_thread_main(void)
{
    fw_thread_id known = atomic_load(&main_thread);
    if (pthread_main_np()) {
        fw_thread_id self = fw_thread_self();
        if (self != known)
            atomic_store(&main_thread, self);
        return self;
    }
    return known;
}
