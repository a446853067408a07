#ifndef MACHHOST_DISPATCH_DISPATCH_H
#define MACHHOST_DISPATCH_DISPATCH_H
typedef struct dispatch_queue_s *dispatch_queue_t;
typedef struct dispatch_queue_s *dispatch_queue_main_t;
extern struct dispatch_queue_s _dispatch_main_q;
static inline dispatch_queue_main_t dispatch_get_main_queue(void)
{
    return &_dispatch_main_q;
}
const char *dispatch_queue_get_label(dispatch_queue_t queue);
#endif
