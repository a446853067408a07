/* The stacks of all threads of this process, one of which cannot answer. */
#include <framewalk/framewalk.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 64, FRAMES = THREADS * 32 };

static void *sleeper(void *context)
{
    (void)context;
    for (;;)
        pause();
    return NULL;
}

static void *busy_and_deaf(void *context)
{
    (void)context;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (;;)
        __asm__ volatile("");
    return NULL;
}

static void print_thread(const struct fw_names *names, const struct fw_thread *thread)
{
    const struct fw_stack *stack = &thread->stack;
    printf("thread %d \"%s\" %c%s\n", (int)thread->id, thread->name, thread->state,
           thread->is_self ? " (this one)" : "");
    for (uint32_t i = 0; i < stack->count; i++) {
        char text[256];
        if (i == stack->head)
            printf("    ... %llu frames ...\n", (unsigned long long)stack->omitted);
        fw_names_format(names, &stack->frames[i], text, sizeof text);
        printf("    %s\n", text);
    }
    if (stack->end == FW_END_UNAVAILABLE)
        printf("    no stack: %s\n", fw_unavailable_text((fw_unavailable)stack->unavailable));
    else if (stack->end != FW_END_ROOT)
        printf("    not whole: %s\n", fw_end_text((fw_end)stack->end));
}

int main(void)
{
    static struct fw_thread threads[THREADS];
    static struct fw_frame frames[FRAMES];
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread, NULL, i < 3 ? sleeper : busy_and_deaf, NULL) != 0)
            return 1;
    usleep(20000);

    size_t count;
    fw_error error = fw_threads_capture(threads, THREADS, &count, frames, FRAMES, NULL);
    if (error != FW_OK) {
        fprintf(stderr, "all_threads: %s\n", fw_error_text(error));
        return 1;
    }
    struct fw_names *names;
    if (fw_names_create(&names) != FW_OK)
        return 1;
    for (size_t i = 0; i < count; i++)
        print_thread(names, &threads[i]);
    fw_names_destroy(names);
    return 0;
}
