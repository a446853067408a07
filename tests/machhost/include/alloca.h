#ifndef MACHHOST_ALLOCA_H
#define MACHHOST_ALLOCA_H
#define alloca(size) __builtin_alloca(size)
#endif
