#ifndef MACHHOST_SIGNAL_H
#define MACHHOST_SIGNAL_H
#include <Availability.h>
#include <sys/types.h>
#include <sys/ucontext.h>
#define SIGHUP    1
#define SIGINT    2
#define SIGQUIT   3
#define SIGILL    4
#define SIGTRAP   5
#define SIGABRT   6
#define SIGEMT    7
#define SIGFPE    8
#define SIGKILL   9
#define SIGBUS    10
#define SIGSEGV   11
#define SIGSYS    12
#define SIGPIPE   13
#define SIGALRM   14
#define SIGTERM   15
#define SIGURG    16
#define SIGSTOP   17
#define SIGTSTP   18
#define SIGCONT   19
#define SIGCHLD   20
#define SIGTTIN   21
#define SIGTTOU   22
#define SIGIO     23
#define SIGXCPU   24
#define SIGXFSZ   25
#define SIGVTALRM 26
#define SIGPROF   27
#define SIGWINCH  28
#define SIGINFO   29
#define SIGUSR1   30
#define SIGUSR2   31
#define NSIG      32
typedef int sig_atomic_t;
union sigval {
    int sival_int;
    void *sival_ptr;
};
typedef struct __siginfo {
    int si_signo;
    int si_errno;
    int si_code;
    pid_t si_pid;
    uid_t si_uid;
    int si_status;
    void *si_addr;
    union sigval si_value;
    long si_band;
    unsigned long __pad[7];
} siginfo_t;
struct sigaction {
    union {
        void (*__sa_handler)(int);
        void (*__sa_sigaction)(int, siginfo_t *, void *);
    } __sigaction_u;
    sigset_t sa_mask;
    int sa_flags;
};
#define sa_handler   __sigaction_u.__sa_handler
#define sa_sigaction __sigaction_u.__sa_sigaction
#define SA_ONSTACK   0x0001
#define SA_RESTART   0x0002
#define SA_RESETHAND 0x0004
#define SA_NODEFER   0x0010
#define SA_SIGINFO   0x0040
#define SIG_BLOCK    1
#define SIG_UNBLOCK  2
#define SIG_SETMASK  3
#define SIG_DFL      ((void (*)(int))0)
#define SIG_IGN      ((void (*)(int))1)
#define SIG_ERR      ((void (*)(int)) - 1)
#define SS_ONSTACK   0x0001
#define SS_DISABLE   0x0004
#define MINSIGSTKSZ  32768
#define SIGSTKSZ     131072
int kill(pid_t pid, int signal);
int raise(int signal);
int sigaction(int signal, const struct sigaction *action, struct sigaction *old);
int sigaltstack(const stack_t *stack, stack_t *old) __WATCHOS_PROHIBITED __TVOS_PROHIBITED;
void (*signal(int signal, void (*handler)(int)))(int);
int sigprocmask(int how, const sigset_t *set, sigset_t *old);
int pthread_kill(pthread_t thread, int signal);
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
#define sigemptyset(set)         (*(set) = 0, 0)
#define sigfillset(set)          (*(set) = ~(sigset_t)0, 0)
#define sigaddset(set, signal)   (*(set) |= (sigset_t)1 << ((signal) - 1), 0)
#define sigdelset(set, signal)   (*(set) &= ~((sigset_t)1 << ((signal) - 1)), 0)
#define sigismember(set, signal) ((int)(*(set) >> ((signal) - 1) & 1))
#endif
