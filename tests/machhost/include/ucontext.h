#ifndef MACHHOST_UCONTEXT_H
#define MACHHOST_UCONTEXT_H
#include <sys/ucontext.h>
#endif
