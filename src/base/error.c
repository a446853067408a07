/* Texts of the public enums: constant, so that they may be printed from anywhere. */
#include "framewalk/stack.h"

#define TEXT(table, value)                                                                         \
    ((size_t)(value) < sizeof(table) / sizeof((table)[0]) ? (table)[value] : "unknown")

const char *fw_error_text(fw_error error)
{
    static const char *const text[] = {
        [FW_OK] = "no error",
        [FW_ERR_ARGUMENT] = "invalid argument",
        [FW_ERR_MEMORY] = "out of memory",
        [FW_ERR_NOT_FOUND] = "not found",
        [FW_ERR_PERMISSION] = "permission denied",
        [FW_ERR_FORMAT] = "unknown file format",
        [FW_ERR_CORRUPT] = "corrupt contents",
        [FW_ERR_TRUNCATED] = "file is truncated",
        [FW_ERR_UNSUPPORTED] = "not supported",
        [FW_ERR_VANISHED] = "process or thread ended",
        [FW_ERR_TIMEOUT] = "timed out",
        [FW_ERR_FULL] = "table is full",
        [FW_ERR_SYSTEM] = "system call failed",
    };
    return TEXT(text, error);
}

const char *fw_method_text(fw_method method)
{
    static const char *const text[] = {
        [FW_METHOD_NONE] = "none",
        [FW_METHOD_REGISTERS] = "registers",
        [FW_METHOD_CFI] = "cfi",
        [FW_METHOD_DEBUG_FRAME] = "debug-frame",
        [FW_METHOD_EXIDX] = "exidx",
        [FW_METHOD_COMPACT] = "compact",
        [FW_METHOD_SIGNAL] = "signal",
        [FW_METHOD_ANALYSIS] = "analysis",
        [FW_METHOD_LINK_REGISTER] = "link-register",
        [FW_METHOD_FRAME_POINTER] = "frame-pointer",
        [FW_METHOD_ASYNC] = "async-context",
    };
    return TEXT(text, method);
}

const char *fw_end_text(fw_end end)
{
    static const char *const text[] = {
        [FW_END_NONE] = "not walked",
        [FW_END_ROOT] = "reached the outermost frame",
        [FW_END_LIMIT] = "frame limit reached",
        [FW_END_NO_INFO] = "no unwind information",
        [FW_END_BAD_MEMORY] = "unreadable stack memory",
        [FW_END_LOOP] = "the stack repeats itself",
        [FW_END_BAD_INFO] = "broken unwind information",
        [FW_END_NOT_CODE] = "the return address is not in executable memory",
        [FW_END_UNAVAILABLE] = "unavailable",
    };
    return TEXT(text, end);
}

const char *fw_unavailable_text(fw_unavailable reason)
{
    static const char *const text[] = {
        [FW_AVAILABLE] = "available",
        [FW_UNAVAILABLE_EXITED] = "thread ended",
        [FW_UNAVAILABLE_BLOCKED] = "thread blocks the capture signal",
        [FW_UNAVAILABLE_UNINTERRUPTIBLE] = "thread is in uninterruptible sleep",
        [FW_UNAVAILABLE_REPLACED] = "the signal handler was replaced",
        [FW_UNAVAILABLE_TIMEOUT] = "no answer in time",
        [FW_UNAVAILABLE_PERMISSION] = "permission denied",
        [FW_UNAVAILABLE_NO_ROOM] = "no room for its frames",
        [FW_UNAVAILABLE_FORBIDDEN] = "this system does not let threads be stopped",
    };
    return TEXT(text, reason);
}
