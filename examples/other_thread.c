/* The stack of another thread of this process, while it waits for a lock. */
#include <framewalk/framewalk.h>

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic fw_thread_id worker_id;

static void *worker(void *context)
{
    (void)context;
    worker_id = fw_thread_self();
    pthread_mutex_lock(&lock); /* for ever: main holds it */
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_mutex_lock(&lock);
    if (pthread_create(&thread, NULL, worker, NULL) != 0)
        return 1;
    while (!worker_id)
        usleep(1000);
    usleep(20000);

    struct fw_frame frames[64];
    struct fw_thread captured = {.stack = {.frames = frames, .capacity = 64}};
    fw_error error = fw_thread_capture(worker_id, &captured, NULL);
    if (error != FW_OK) {
        fprintf(stderr, "other_thread: %s\n", fw_error_text(error));
        return 1;
    }
    struct fw_names *names;
    if (fw_names_create(&names) != FW_OK)
        return 1;
    printf("thread %d, state %c, held for %llu ns\n", (int)captured.id, captured.state,
           (unsigned long long)captured.held_ns);
    for (uint32_t i = 0; i < captured.stack.count; i++) {
        char text[256];
        fw_names_format(names, &frames[i], text, sizeof text);
        printf("#%-2u %s\n", (unsigned)i, text);
    }
    printf("ended: %s\n", fw_end_text((fw_end)captured.stack.end));
    fw_names_destroy(names);

    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
