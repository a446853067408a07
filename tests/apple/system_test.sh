#!/bin/sh
# system_test.sh CLANG LLD NM ROOT HEADERS: every source of the Apple package, for every platform and architecture it is meant
# for, against Apple's headers: not a warning, nothing that is not available there. The dylib and the examples are linked
# with Apple's stub of libSystem (macOS), or one made of it for the other systems. Then what the objects use of Apple's
# "required reason" interfaces, beside what PrivacyInfo.xcprivacy declares. HEADERS is what packaging/run/apple_headers.sh
# laid down.
set -eu
clang=$1 lld=$2 nm=$3 root=$4 headers=$5
# shellcheck source=tests/apple/sources.sh
. "$root/tests/apple/sources.sh"
# shellcheck source=tests/apple/stubs.sh
. "$root/tests/apple/stubs.sh"
for tool in "$clang" "$lld" "$nm"; do
    command -v "$tool" >/dev/null || { echo "skip: $tool is not installed"; exit 77; }
done
[ -f "$headers/lib/libSystem.tbd" ] || {
    echo "skip: Apple's headers are not in $headers; ./run test --all fetches them"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
libsystem=$headers/lib/libSystem.tbd
cd "$root"

# link TARGET ARGUMENT...: nothing may stay undefined.
link() {
    target=$1
    shift
    "$clang" -target "$target" --ld-path="$(command -v "$lld")" -mlinker-version=705 -nodefaultlibs \
        -Wl,-fatal_warnings -L"$work/$target/stubs" "$@" -lclang_rt -lSystem
}

link_examples() {
    for name in self other_thread all_threads; do
        "$clang" -std=gnu11 -target "$1" -nostdlibinc -isystem "$headers/include" -Iinclude -Wall -Wextra -Werror \
            -Wunguarded-availability -c "examples/$name.c" -o "$work/$1/$name.o"
        link "$1" "$work/$1/$name.o" "$work/$1/libframewalk.dylib" -o "$work/$1/$name"
    done
    for name in $objective_c; do
        # Apple's headers come without their module maps.
        sed 's,^@import Framewalk;,#include <framewalk/framewalk.h>,
             s,^@import Framewalk.Foundation;,#include <framewalk/foundation.h>,
             s,^@import FramewalkUpload;,#include <framewalk/upload.h>,' "examples/apple/$name.m" >"$work/$name.m"
        "$clang" -target "$1" -nostdlibinc -isystem "$headers/include" -isystem tests/apple/include -Iinclude -fobjc-arc \
            -Wall -Wextra -Werror -Wunguarded-availability -c "$work/$name.m" -o "$work/$1/$name.o"
        link "$1" "$work/$1/$name.o" "$work/$1/libframewalk.dylib" "$work/$1/libframewalk-upload.dylib" -lobjc \
            "$work/$1/stubs/Foundation.tbd" -o "$work/$1/$name"
    done
}

objective_c=$(cd examples/apple && echo *.m | sed 's/\.m//g')
linked=0
for target in $apple_targets; do
    out=$work/$target
    compile_all "$clang" . "$out/objects" -target "$target" -nostdlibinc -isystem "$headers/include" ||
        { echo "$target: does not compile" >&2; exit 1; }
    apple_upload_sources . | grep '\.c$' | compile_these "$clang" . "$out/upload" -target "$target" -nostdlibinc \
        -isystem "$headers/include" || { echo "$target: upload does not compile" >&2; exit 1; }
    case $target in
    i386-apple-macos*) ;; # its old runtime of Objective-C has no ARC
    *)
        apple_upload_sources . | grep '\.m$' | compile_these "$clang" . "$out/upload" -target "$target" -nostdlibinc \
            -isystem "$headers/include" -isystem tests/apple/include -fobjc-arc ||
            { echo "$target: upload does not compile" >&2; exit 1; }
        ;;
    esac
    count=$(find "$out/objects" "$out/upload" -name '*.o' | wc -l)
    case $target in
    i386-* | armv7*) # no stub library of Apple's knows them, nor does lld link them
        echo "$target: $count objects"
        continue
        ;;
    esac
    stub_folder "$libsystem" tests/apple/stubs "$target" "$out/stubs"
    link "$target" -dynamiclib -install_name "$out/libframewalk.dylib" "$out/objects"/*.o -o "$out/libframewalk.dylib"
    link "$target" -dynamiclib -install_name "$out/libframewalk-upload.dylib" "$out/upload"/*.o "$out/libframewalk.dylib" \
        -lz -lobjc "$out/stubs/Foundation.tbd" "$out/stubs/CoreFoundation.tbd" -o "$out/libframewalk-upload.dylib"
    link_examples "$target"
    echo "$target: $count objects, dylib and examples linked"
    linked=$((linked + 1))
done
[ "$linked" -gt 0 ]

# Category and its functions, as Apple's "Describing use of required reason API" lists them.
used=$(find "$work" '(' -path '*/objects/*.o' -o -path '*/upload/*.o' ')' -exec "$nm" --undefined-only {} + 2>/dev/null | awk '{ print $NF }' | sort -u |
    sed 's/^_//; s/\$.*//' | awk '
        /^(stat|fstat|lstat|fstatat|stat64|fstat64|lstat64|getattrlist|getattrlistbulk|fgetattrlist|getattrlistat)$/ {
            print "NSPrivacyAccessedAPICategoryFileTimestamp" }
        /^(mach_absolute_time|mach_approximate_time|mach_continuous_time)$/ {
            print "NSPrivacyAccessedAPICategorySystemBootTime" }
        /^(statfs|statvfs|fstatfs|fstatvfs)$/ { print "NSPrivacyAccessedAPICategoryDiskSpace" }' | sort -u)
declared=$(sed -n 's,.*<string>\(NSPrivacyAccessedAPICategory.*\)</string>.*,\1,p' \
    packaging/apple/PrivacyInfo.xcprivacy | sort -u)
if [ "$used" != "$declared" ]; then
    echo "used by the objects:"
    echo "$used"
    echo "declared in PrivacyInfo.xcprivacy:"
    echo "$declared"
    exit 1
fi
echo "declared and used: ${used:-nothing}"
