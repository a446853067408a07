/*
 * KSCrash JSON, schema versions 2 and 3, and what Bugsnag and Matrix made of it: addresses and load
 * addresses, names from the device that a stripped binary makes wrong.
 *
 * KSCrash leaves its own handler's frames out, so that the first address of the crashed thread may
 * be a return address: it is exact only where the program counter says the same. The stack of an
 * exception that was thrown consists of return addresses.
 */
#include "report/build.h"

static const char *arch_text(struct report_build *b, uint32_t image)
{
    const struct jdoc *doc = &b->body;
    uint64_t type, subtype = 0;
    if (!jdoc_u64(doc, jdoc_get(doc, image, "cpu_type"), &type))
        return NULL;
    jdoc_u64(doc, jdoc_get(doc, image, "cpu_subtype"), &subtype);
    switch (type) { /* mach/machine.h */
    case 7: return "i386";
    case 12: return "armv7";
    case 0x01000007: return "x86_64";
    case 0x0100000c: return (subtype & 0xff) == 2 ? "arm64e" : "arm64";
    case 0x0200000c: return "arm64_32";
    default: return NULL;
    }
}

static void read_image(struct report_build *b, uint32_t node)
{
    const struct jdoc *doc = &b->body;
    struct report_image image = {
        .path = build_string(b, doc, jdoc_get(doc, node, "name")),
        .arch = arch_text(b, node),
    };
    image.has_load = jdoc_u64(doc, jdoc_get(doc, node, "image_addr"), &image.load);
    jdoc_u64(doc, jdoc_get(doc, node, "image_size"), &image.size);
    uint32_t uuid = jdoc_get(doc, node, "uuid");
    if (jdoc_is(doc, uuid, JSTRING))
        build_id(&image,
                 cursor_over(doc->text, doc->nodes[uuid].begin + 1, doc->nodes[uuid].end - 1));
    build_name_of_path(&image);
    build_image(b, &image);
}

static void read_frame(struct report_build *b, uint32_t node)
{
    const struct jdoc *doc = &b->body;
    struct report_frame *frame = build_frame(b);
    if (!frame)
        return;
    frame->node = node;
    frame->span = (struct report_span){doc->nodes[node].begin, doc->nodes[node].end};
    frame->has_address = jdoc_u64(doc, jdoc_get(doc, node, "instruction_addr"), &frame->address);
    struct report_image image = {.name = build_string(b, doc, jdoc_get(doc, node, "object_name"))};
    image.has_load = jdoc_u64(doc, jdoc_get(doc, node, "object_addr"), &image.load) && image.load;
    if (image.name || image.has_load)
        frame->image = build_hint(b, &image);
    const char *symbol = build_string(b, doc, jdoc_get(doc, node, "symbol_name"));
    if (!symbol)
        return;
    build_inlines(b, frame, jdoc_get(doc, node, "inlines"), "symbol_name", "source_file",
                  "source_line");
    struct report_name *name = build_known(b, frame);
    if (!name)
        return;
    name->function = symbol;
    name->file = build_string(b, doc, jdoc_get(doc, node, "source_file"));
    name->line = build_line(b, jdoc_get(doc, node, "source_line"));
    uint64_t start;
    if (jdoc_u64(doc, jdoc_get(doc, node, "symbol_addr"), &start) && start && frame->has_address &&
        start <= frame->address) {
        name->has_offset = true;
        name->offset = frame->address - start;
    }
}

/* The program counter of a thread; false where its registers are not there. */
static bool program_counter(const struct jdoc *doc, uint32_t thread, uint64_t *pc)
{
    uint32_t basic = jdoc_get(doc, jdoc_get(doc, thread, "registers"), "basic");
    return jdoc_u64(doc, jdoc_get(doc, basic, "pc"), pc) ||
           jdoc_u64(doc, jdoc_get(doc, basic, "rip"), pc) ||
           jdoc_u64(doc, jdoc_get(doc, basic, "eip"), pc);
}

static void read_thread(struct report_build *b, uint32_t node, bool thrown)
{
    const struct jdoc *doc = &b->body;
    struct report *r = b->report;
    struct report_thread *thread = build_thread(b, REPORT_STACK);
    thread->id = build_string(b, doc, jdoc_get(doc, node, "index"));
    thread->name = build_string(b, doc, jdoc_get(doc, node, "name"));
    thread->queue = build_string(b, doc, jdoc_get(doc, node, "dispatch_queue"));
    bool crashed = jdoc_is(doc, jdoc_get(doc, node, "crashed"), JTRUE);
    thread->crashed = crashed;
    uint32_t contents = jdoc_get(doc, jdoc_get(doc, node, "backtrace"), "contents");
    size_t first = r->frame_count;
    for (uint32_t i = jdoc_first(doc, contents); i != JNONE; i = jdoc_after(doc, contents, i))
        if (jdoc_is(doc, i, JOBJECT))
            read_frame(b, i);
    if (b->error || first == r->frame_count || !crashed)
        return;
    uint64_t pc;
    bool known = program_counter(doc, node, &pc);
    if (thrown || (known && pc != r->frames[first].address))
        r->frames[first].kind = REPORT_RETURN;
}

static void read_info(struct report_build *b, uint32_t error)
{
    const struct jdoc *doc = &b->body;
    struct report_info *info = &b->report->info;
    uint32_t report = jdoc_get(doc, 0, "report"), system = jdoc_get(doc, 0, "system");
    info->process = build_string(b, doc, jdoc_get(doc, report, "process_name"));
    info->incident = build_string(b, doc, jdoc_get(doc, report, "id"));
    info->date = build_string(b, doc, jdoc_get(doc, report, "timestamp"));
    info->pid = build_string(b, doc, jdoc_get(doc, system, "process_id"));
    info->path = build_string(b, doc, jdoc_get(doc, system, "CFBundleExecutablePath"));
    info->bundle = build_string(b, doc, jdoc_get(doc, system, "CFBundleIdentifier"));
    info->version = build_string(b, doc, jdoc_get(doc, system, "CFBundleShortVersionString"));
    info->build = build_string(b, doc, jdoc_get(doc, system, "CFBundleVersion"));
    info->device = build_string(b, doc, jdoc_get(doc, system, "machine"));
    info->arch = build_string(b, doc, jdoc_get(doc, system, "cpu_arch"));
    const char *name = build_string(b, doc, jdoc_get(doc, system, "system_name"));
    const char *version = build_string(b, doc, jdoc_get(doc, system, "system_version"));
    const char *build = build_string(b, doc, jdoc_get(doc, system, "os_version"));
    if (name && version)
        info->os = build_format(b, "%s %s%s%s%s", name, version, build ? " (" : "",
                                build ? build : "", build ? ")" : "");
    uint32_t mach = jdoc_get(doc, error, "mach"), signal = jdoc_get(doc, error, "signal");
    const char *exception = build_string(b, doc, jdoc_get(doc, mach, "exception_name"));
    const char *signal_name = build_string(b, doc, jdoc_get(doc, signal, "name"));
    if (exception && signal_name)
        exception = build_format(b, "%s (%s)", exception, signal_name);
    info->exception = exception ? exception : signal_name;
    info->reason = build_string(b, doc, jdoc_get(doc, error, "reason"));
    b->pointer_auth = info->arch && strncmp(info->arch, "arm64", 5) == 0;
}

void read_kscrash(struct report_build *b)
{
    const struct jdoc *doc = &b->body;
    uint32_t images = jdoc_get(doc, 0, "binary_images"), crash = jdoc_get(doc, 0, "crash");
    for (uint32_t i = jdoc_first(doc, images); i != JNONE; i = jdoc_after(doc, images, i))
        read_image(b, i);
    uint32_t error = jdoc_get(doc, crash, "error");
    read_info(b, error);
    const char *type = build_string(b, doc, jdoc_get(doc, error, "type"));
    bool thrown = type && (strcmp(type, "nsexception") == 0 || strcmp(type, "user") == 0 ||
                           strcmp(type, "cpp_exception") == 0);
    uint32_t threads = jdoc_get(doc, crash, "threads");
    for (uint32_t i = jdoc_first(doc, threads); i != JNONE; i = jdoc_after(doc, threads, i))
        read_thread(b, i, thrown);
}
