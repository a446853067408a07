/*
 * Threads of this process (framewalk/threads.h): who they are, in whose memory their stacks go, and
 * the calling thread itself. Asking the others is the part of collect.h.
 *
 * Order: list, names and states, stacks. Names and states are read first because a thread that has
 * just been asked shows itself running, one that has exited shows nothing, and while one is
 * suspended nobody may ask. Invariant: every id that is worked on is kept, and released on every
 * path.
 */
#include "framewalk/threads.h"

#include "capture/collect.h"
#include "framewalk/capture.h"
#include "os/threads.h"

enum {
    DEFAULT_FRAMES = 128,
    DEFAULT_TIMEOUT_MS = 200,
    OWN_FRAMES = 8, /* frames of Framewalk itself below the caller, at the most */
};

struct request {
    struct collect_settings settings;
    bool skip_self, skip_names;
    fw_thread_id main, self;
};

static fw_error read_options(const struct fw_threads_options *given, struct request *request)
{
    struct fw_threads_options options = {.size = sizeof options};
    if (given && given->size < sizeof options)
        return FW_ERR_ARGUMENT;
    if (given)
        options = *given;
    uint32_t frames = options.frames ? options.frames : DEFAULT_FRAMES;
    uint32_t tail = options.tail ? options.tail : frames / 4;
    uint32_t timeout = options.timeout_ms ? options.timeout_ms : DEFAULT_TIMEOUT_MS;
    if (frames > COLLECT_FRAMES || tail >= frames)
        return FW_ERR_ARGUMENT;
    *request = (struct request){
        .settings = {.frames = frames,
                     .tail = tail,
                     .timeout_ns = (uint64_t)timeout * 1000000,
                     .at_once = options.at_once},
        .skip_self = options.skip_self,
        .skip_names = options.skip_names,
        .main = fw_thread_main(),
        .self = fw_thread_self(),
    };
    return collect_check(&request->settings);
}

/* A list of ids that may be read more than once while it changes: ids are kept in the order in
 * which they first came. */
struct listing {
    void *items; /* struct fw_thread, or bare ids */
    bool bare;
    size_t capacity, count;
    size_t expected; /* where the next id stands if the last pass had it too */
    size_t beyond;   /* ids of this pass for which there was no room */
    unsigned pass;
    fw_thread_id leave_out;
};

static fw_thread_id *listed_id(const struct listing *list, size_t i)
{
    return list->bare ? (fw_thread_id *)list->items + i
                      : &((struct fw_thread *)list->items + i)->id;
}

static bool is_listed(struct listing *list, fw_thread_id id)
{
    for (size_t n = 0; n < list->count; n++) {
        size_t i = (list->expected + n) % list->count;
        if (*listed_id(list, i) == id) {
            list->expected = i + 1;
            return true;
        }
    }
    return false;
}

/* Bare ids are only told, those of threads to be captured are kept. */
static bool add_to_list(void *context, unsigned pass, fw_thread_id id)
{
    struct listing *list = context;
    if (pass != list->pass) {
        list->pass = pass;
        list->expected = list->beyond = 0;
    }
    if (id == list->leave_out || (pass > 0 && is_listed(list, id)))
        return false;
    if (list->count == list->capacity) {
        list->beyond++;
        return false;
    }
    *listed_id(list, list->count++) = id;
    return !list->bare;
}

static fw_error list_threads(struct listing *list, size_t *count)
{
    fw_error error = os_threads_each(add_to_list, list);
    *count = list->count + list->beyond;
    if (error == FW_OK && list->beyond)
        error = FW_ERR_MEMORY;
    return error;
}

fw_error fw_threads_list(fw_thread_id *ids, size_t capacity, size_t *count)
{
    if (!count || (capacity && !ids))
        return FW_ERR_ARGUMENT;
    struct listing list = {.items = ids, .bare = true, .capacity = capacity};
    return list_threads(&list, count);
}

static void begin_thread(struct fw_thread *thread, fw_thread_id id, const struct request *request)
{
    *thread = (struct fw_thread){.id = id, .state = '?'};
    thread->is_main = id == request->main;
    thread->is_self = id == request->self;
    os_thread_describe(thread, !request->skip_names);
}

static uint64_t code_address(const void *address)
{
#if defined(__arm__)
    return (uintptr_t)address & ~(uintptr_t)1; /* frames carry no Thumb bit */
#else
    return (uintptr_t)address;
#endif
}

/* The calling thread's stack from `caller`, a return address in it, outwards. How many frames of
 * our own lie before it depends on inlining, so they are counted in a first, short walk. */
static __attribute__((noinline)) void capture_self(struct fw_thread *thread, const void *caller,
                                                   const struct collect_settings *settings,
                                                   struct collect_room *room)
{
    struct fw_frame own[OWN_FRAMES];
    struct fw_stack stack = {.frames = own, .capacity = OWN_FRAMES};
    uint32_t skip = 0, count = fw_capture(&stack, 0);
    while (skip < count && own[skip].address != code_address(caller))
        skip++;
    if (skip == count)
        skip = 0;

    stack = collect_room_stack(room, settings);
    if (stack.capacity)
        fw_capture(&stack, skip);
    collect_room_take(room, &stack);
    thread->stack = stack;
}

static const void *caller_address(const void *return_address)
{
    return __builtin_extract_return_addr((void *)(uintptr_t)return_address);
}

fw_error fw_thread_capture(fw_thread_id id, struct fw_thread *thread,
                           const struct fw_threads_options *options)
{
    struct request request;
    fw_error error = read_options(options, &request);
    if (error != FW_OK)
        return error;
    if (id <= 0 || !thread || !thread->stack.frames || !thread->stack.capacity)
        return FW_ERR_ARGUMENT;
    if (!os_thread_keep(id))
        return FW_ERR_NOT_FOUND;

    uint32_t capacity = thread->stack.capacity;
    struct collect_room room = {thread->stack.frames, capacity};
    begin_thread(thread, id, &request);
    thread->stack.frames = room.frames; /* also where there turns out to be no stack */
    if (thread->is_self)
        capture_self(thread, caller_address(__builtin_return_address(0)), &request.settings, &room);
    else
        error = collect_threads(thread, 1, &request.settings, &room);
    thread->stack.capacity = capacity;
    os_thread_release(id);
    return error;
}

fw_error fw_threads_capture(struct fw_thread *threads, size_t capacity, size_t *count,
                            struct fw_frame *frames, size_t frame_capacity,
                            const struct fw_threads_options *options)
{
    struct request request;
    fw_error error = read_options(options, &request);
    if (error != FW_OK)
        return error;
    if (!count || (capacity && !threads) || (frame_capacity && !frames))
        return FW_ERR_ARGUMENT;
    struct listing list = {.items = threads, .capacity = capacity};
    if (request.skip_self)
        list.leave_out = request.self;
    fw_error listed = list_threads(&list, count);
    bool usable = listed == FW_OK || listed == FW_ERR_MEMORY;

    struct collect_room room = {frames, frame_capacity};
    for (size_t i = 0; usable && i < list.count; i++)
        begin_thread(&threads[i], threads[i].id, &request);
    for (size_t i = 0; usable && i < list.count; i++)
        if (threads[i].is_self)
            capture_self(&threads[i], caller_address(__builtin_return_address(0)),
                         &request.settings, &room);
    if (usable)
        error = collect_threads(threads, list.count, &request.settings, &room);
    for (size_t i = 0; i < list.count; i++)
        os_thread_release(threads[i].id);
    return error != FW_OK ? error : listed;
}
