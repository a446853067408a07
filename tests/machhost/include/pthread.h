#ifndef MACHHOST_PTHREAD_H
#define MACHHOST_PTHREAD_H
#include <mach/port.h>
#include <sched.h>
#include <sys/types.h>
#include <time.h>

#define PTHREAD_CREATE_JOINABLE             1
#define PTHREAD_CREATE_DETACHED             2
#define PTHREAD_STACK_MIN                   8192
#define PTHREAD_MUTEX_NORMAL                0
#define PTHREAD_MUTEX_ERRORCHECK            1
#define PTHREAD_MUTEX_RECURSIVE             2
#define PTHREAD_MUTEX_DEFAULT               PTHREAD_MUTEX_NORMAL
#define PTHREAD_MUTEX_INITIALIZER           {0x32AAABA7, {0}}
#define PTHREAD_RECURSIVE_MUTEX_INITIALIZER {0x32AAABA2, {0}}
#define PTHREAD_COND_INITIALIZER            {0x3CB0B1BB, {0}}
#define PTHREAD_ONCE_INIT                   {0x30B1BCBA, {0}}
#define PTHREAD_RWLOCK_INITIALIZER          {0x2DA8B3B4, {0}}

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int pthread_attr_destroy(pthread_attr_t *attr);
int pthread_attr_init(pthread_attr_t *attr);
int pthread_attr_setdetachstate(pthread_attr_t *attr, int state);
int pthread_attr_setstacksize(pthread_attr_t *attr, size_t size);
int pthread_cond_broadcast(pthread_cond_t *cond);
int pthread_cond_destroy(pthread_cond_t *cond);
int pthread_condattr_destroy(pthread_condattr_t *attr);
int pthread_condattr_init(pthread_condattr_t *attr);
int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int pthread_cond_signal(pthread_cond_t *cond);
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *until);
int pthread_cond_timedwait_relative_np(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                       const struct timespec *span);
int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                   void *argument);
int pthread_detach(pthread_t thread);
int pthread_equal(pthread_t a, pthread_t b);
void pthread_exit(void *value) __attribute__((noreturn));
void *pthread_getspecific(pthread_key_t key);
int pthread_join(pthread_t thread, void **value);
int pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int pthread_key_delete(pthread_key_t key);
int pthread_kill(pthread_t thread, int signal);
int pthread_mutex_destroy(pthread_mutex_t *mutex);
int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_trylock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_mutexattr_destroy(pthread_mutexattr_t *attr);
int pthread_mutexattr_init(pthread_mutexattr_t *attr);
int pthread_mutexattr_settype(pthread_mutexattr_t *attr, int type);
int pthread_once(pthread_once_t *once, void (*routine)(void));
int pthread_rwlock_destroy(pthread_rwlock_t *lock);
int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attr);
int pthread_rwlock_rdlock(pthread_rwlock_t *lock);
int pthread_rwlock_unlock(pthread_rwlock_t *lock);
int pthread_rwlock_wrlock(pthread_rwlock_t *lock);
pthread_t pthread_self(void);
int pthread_setspecific(pthread_key_t key, const void *value);
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old);

pthread_t pthread_from_mach_thread_np(mach_port_t port);
int pthread_getname_np(pthread_t thread, char *name, size_t size);
void *pthread_get_stackaddr_np(pthread_t thread);
size_t pthread_get_stacksize_np(pthread_t thread);
mach_port_t pthread_mach_thread_np(pthread_t thread);
int pthread_main_np(void);
int pthread_setname_np(const char *name);
int pthread_threadid_np(pthread_t thread, uint64_t *id);
#endif
