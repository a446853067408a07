/*
 * The model of Foundation's threads and arrays, for <framewalk/foundation.h>: a thread that turns a
 * run loop of its own, takes the name that others give it, and does what it is asked to. Without
 * ARC.
 */
#import <Foundation/Foundation.h>

#include "messages.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

@implementation NSArray {
  @public
    id _items[1024];
    NSUInteger _count;
}
- (NSUInteger)count
{
    return _count;
}
- (id)objectAtIndex:(NSUInteger)index
{
    return _items[index];
}
- (id)firstObject
{
    return _count ? _items[0] : nil;
}
@end
@implementation NSMutableArray
+ (instancetype)array
{
    return [self alloc];
}
- (void)addObject:(id)item
{
    _items[_count++] = item;
}
@end

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local NSThread *current;

@implementation NSThread {
  @public
    void (^_block)(void);
    NSString *_name;
    bool _renamed, _ended;
    NSBlockOperation *_operation;
}

/* One turn of its run loop. */
- (void)turn
{
    NSBlockOperation *operation = nil;
    pthread_mutex_lock(&guard);
    if (_renamed)
        pthread_setname_np(_name ? _name.UTF8String : "");
    _renamed = false;
    operation = _operation;
    _operation = nil;
    pthread_mutex_unlock(&guard);
    [operation start];
}

static void *run(void *argument)
{
    current = argument;
    current->_block();
    current->_ended = true;
    return NULL;
}

+ (void)detachNewThreadWithBlock:(void (^)(void))block
{
    pthread_t thread;
    NSThread *it = [self alloc];
    it->_block = model_copy_block(block);
    pthread_create(&thread, NULL, run, it);
    pthread_detach(thread);
}
+ (NSThread *)currentThread
{
    if (!current)
        current = [NSThread alloc];
    return current;
}
+ (void)sleepForTimeInterval:(NSTimeInterval)seconds
{
    usleep((unsigned)(seconds * 1e6));
    [[NSThread currentThread] turn];
}
- (NSString *)name
{
    return _name;
}
/* Handed on at once, as far as the thread turns its loop. */
- (void)setName:(NSString *)name
{
    pthread_mutex_lock(&guard);
    _name = name;
    _renamed = true;
    pthread_mutex_unlock(&guard);
    for (int ms = 0; _renamed && ms < 200; ms++)
        usleep(1000);
}
- (BOOL)isMainThread
{
    return NO;
}
- (BOOL)isExecuting
{
    return !_ended;
}
@end

@implementation NSBlockOperation {
    void (^_block)(void);
}
+ (instancetype)blockOperationWithBlock:(void (^)(void))block
{
    NSBlockOperation *operation = [self alloc];
    operation->_block = model_copy_block(block);
    return operation;
}
- (void)start
{
    _block();
}
- (void)performSelector:(SEL)selector
               onThread:(NSThread *)thread
             withObject:(id)object
          waitUntilDone:(BOOL)wait
{
    (void)selector, (void)object, (void)wait;
    pthread_mutex_lock(&guard);
    thread->_operation = (NSBlockOperation *)self;
    pthread_mutex_unlock(&guard);
}
@end
