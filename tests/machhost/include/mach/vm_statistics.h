#ifndef MACHHOST_MACH_VM_STATISTICS_H
#define MACHHOST_MACH_VM_STATISTICS_H
#define VM_FLAGS_FIXED          0x0000
#define VM_FLAGS_ANYWHERE       0x0001
#define VM_FLAGS_OVERWRITE      0x4000
#define VM_MAKE_TAG(tag)        ((tag) << 24)
#define VM_MEMORY_ANALYSIS_TOOL 10
#define VM_MEMORY_STACK         30
#endif
