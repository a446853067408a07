/*
 * Labels of dispatch queues, without trusting that a queue is still there.
 *
 * Another thread's queue may be freed at any moment, so dispatch_queue_get_label() must not be
 * called on it: thread -> queue -> label -> text is followed by checked reads, and believed when
 * the thread has the same queue afterwards. What this relies on:
 * - thread_identifier_info.dispatch_qaddr is the address of a pointer to the queue (mach/
 *   thread_info.h; debuggers use it so).
 * - All queues keep the pointer to their label at the same offset. libdispatch publishes it for
 *   debuggers in a private symbol, dispatch_queue_offsets; here it is learnt from the main queue,
 *   whose label its public function tells.
 */
#include "os/darwin/queue_label.h"

#include <dispatch/dispatch.h>
#include <mach/mach.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { WORDS = 32 /* of a queue that are looked at */, NOT_FOUND = -1 };

static bool read_memory(uintptr_t from, void *to, size_t size)
{
    vm_size_t got = 0;
    return vm_read_overwrite(mach_task_self(), from, size, (vm_address_t)to, &got) ==
               KERN_SUCCESS &&
           got == size;
}

static bool read_word(uintptr_t from, uintptr_t *word)
{
    return from % sizeof *word == 0 && read_memory(from, word, sizeof *word);
}

static int find_offset(void)
{
    const uintptr_t queue = (uintptr_t)dispatch_get_main_queue();
    const uintptr_t label = (uintptr_t)dispatch_queue_get_label(dispatch_get_main_queue());
    uintptr_t word;
    for (unsigned i = 1; label && i < WORDS && read_word(queue + i * sizeof word, &word); i++)
        if (word == label)
            return (int)(i * sizeof word);
    return NOT_FOUND;
}

static int label_offset(void)
{
    static _Atomic int known; /* 0: not looked for yet; a queue begins with other things */
    int offset = atomic_load(&known);
    if (offset == 0) {
        offset = find_offset();
        atomic_store(&known, offset);
    }
    return offset;
}

/* Text that may end in front of memory that cannot be read. */
static void read_text(uintptr_t from, char *text, size_t size)
{
    size_t to_page = vm_page_size - (from & (vm_page_size - 1));
    memset(text, 0, size);
    if (!read_memory(from, text, size - 1) &&
        (to_page >= size - 1 || !read_memory(from, text, to_page)))
        text[0] = 0;
}

void queue_label_read(uintptr_t place, char *label, size_t size)
{
    uintptr_t queue, text, after;
    const int offset = label_offset();
    label[0] = 0;
    if (offset == NOT_FOUND || !place || !read_word(place, &queue) || !queue ||
        !read_word(queue + (uintptr_t)offset, &text) || !text)
        return;
    read_text(text, label, size);
    if (!read_word(place, &after) || after != queue)
        label[0] = 0;
}
