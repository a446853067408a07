#ifndef MACHHOST_PTHREAD_STACK_NP_H
#define MACHHOST_PTHREAD_STACK_NP_H
#include <stdint.h>
uintptr_t pthread_stack_frame_decode_np(uintptr_t frame, uintptr_t *return_address)
    __attribute__((weak_import));
#endif
