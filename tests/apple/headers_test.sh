#!/bin/sh
# headers_test.sh CLANG ROOT: the module `Framewalk` holds every public header of libframewalk, builds as a module for
# C, Objective-C and C++, and each header stands alone.
set -eu
clang=$1 root=$2
command -v "$clang" >/dev/null || { echo "skip: $clang is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
flags="-target arm64-apple-ios12 -nostdlibinc -isystem tests/machhost/include -Iinclude -Wall -Wextra -Werror -fsyntax-only"

# The umbrella includes all but what the module map leaves out.
# shellcheck disable=SC2086
"$clang" $flags -H include/framewalk/framewalk.h 2>&1 | sed -n 's,^\.* .*include/framewalk/,,p' | sort -u >"$work/reached"
echo framewalk.h >>"$work/reached"
for header in include/framewalk/*.h; do
    name=${header##*/}
    if grep -q "exclude header \"framewalk/$name\"" include/module.modulemap; then
        if grep -qx "$name" "$work/reached"; then
            echo "$name: framewalk.h includes it, the module map leaves it out"
            exit 1
        fi
    elif grep -q "^        header \"framewalk/$name\"" include/module.modulemap; then
        continue # a module of its own, over Foundation
    elif ! grep -qx "$name" "$work/reached"; then
        echo "$name: neither does framewalk.h include it nor does the module map leave it out"
        exit 1
    fi
    case $name in hang_glib.h | hang_uv.h) continue ;; esac # wants the headers of its loop
    for language in c objective-c c++; do
        # shellcheck disable=SC2086
        "$clang" $flags -Wno-pragma-once-outside-header -x "$language" "$header"
    done
done

# As a module: each of its functions is seen through the import alone.
cat >"$work/uses.m" <<'END'
@import Framewalk;
char *(*all)(void) = fw_text_all_threads;
fw_error (*get)(struct fw_stack_names *, const struct fw_stack *, const struct fw_named_stack **) = fw_stack_names_get;
uint32_t (*capture)(struct fw_stack *, uint32_t) = fw_capture;
@import Framewalk.Foundation;
fw_thread_id (*of)(NSThread *) = fw_thread_of_nsthread;
fw_thread_id (*asked)(NSThread *, NSTimeInterval) = fw_thread_of_nsthread_asked;
NSArray<NSString *> *symbols(void);
NSArray<NSString *> *symbols(void)
{
    return fw_call_stack_symbols(32);
}
END
# shellcheck disable=SC2086
"$clang" $flags -fmodules -fmodules-cache-path="$work/cache" -fmodule-map-file=include/module.modulemap \
    -isystem tests/apple/include -fobjc-arc -Wincomplete-umbrella "$work/uses.m"

# The Objective-C examples, as their readers would build them.
for example in examples/apple/*.m; do
    # shellcheck disable=SC2086
    "$clang" $flags -fmodules -fmodules-cache-path="$work/cache" -fmodule-map-file=include/module.modulemap \
        -fmodule-map-file=src/watch/apple/module.modulemap -isystem tests/apple/include -fobjc-arc "$example"
done
echo "$(wc -l <"$work/reached") headers in the module"
