#ifndef MACHHOST_MACH_MACHINE_STRUCTS_H
#define MACHHOST_MACH_MACHINE_STRUCTS_H
#include <mach/arm/_structs.h>
#include <mach/i386/_structs.h>
#endif
