#ifndef MACHHOST_SYS_SYSCTL_H
#define MACHHOST_SYS_SYSCTL_H
#include <sys/types.h>
#define CTL_KERN      1
#define CTL_HW        6
#define KERN_PROC     14
#define KERN_PROC_PID 1
#define P_TRACED      0x00000800
/* What is used of a process's description, in front; then room for the rest of it. */
struct extern_proc {
    union {
        struct {
            void *p_forw;
            void *p_back;
        } p_st1;
        struct timeval __p_starttime;
    } p_un;
    void *p_vmspace;
    void *p_sigacts;
    int p_flag;
    char p_stat;
    pid_t p_pid;
    char p_more[252];
};
#define p_starttime p_un.__p_starttime
struct kinfo_proc {
    struct extern_proc kp_proc;
    char kp_eproc[352];
};
int sysctl(int *name, unsigned count, void *old, size_t *old_size, void *value, size_t value_size);
int sysctlbyname(const char *name, void *old, size_t *old_size, void *value, size_t value_size);
#endif
