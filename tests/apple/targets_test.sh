#!/bin/sh
# targets_test.sh CLANG NM ROOT: every source of the Apple package, for every platform and architecture it is meant
# for, against our own declarations of Apple's headers: not a warning. Then what the objects use of Apple's "required
# reason" interfaces, beside what PrivacyInfo.xcprivacy declares.
set -eu
clang=$1 nm=$2 root=$3
# shellcheck source=tests/apple/sources.sh
. "$root/tests/apple/sources.sh"
command -v "$clang" >/dev/null || { echo "skip: $clang is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

targets="x86_64-apple-macos10.14 i386-apple-macos10.13 arm64-apple-macos11 arm64e-apple-macos11
    arm64-apple-ios12 arm64e-apple-ios14 armv7-apple-ios9 arm64-apple-ios14-simulator x86_64-apple-ios12-simulator
    x86_64-apple-ios13.1-macabi arm64-apple-tvos12 arm64-apple-tvos14-simulator
    arm64_32-apple-watchos5 armv7k-apple-watchos3 arm64-apple-watchos9 arm64-apple-watchos7-simulator"
for target in $targets; do
    compile_all "$clang" "$root" "$work/$target" -target "$target" -nostdlibinc \
        -isystem "$root/tests/machhost/include" || { echo "$target: does not compile" >&2; exit 1; }
    echo "$target: $(find "$work/$target" -name "*.o" | wc -l) objects"
done

# Category and its functions, as Apple's "Describing use of required reason API" lists them.
used=$(find "$work" -name '*.o' -exec "$nm" --undefined-only {} + 2>/dev/null | awk '{ print $NF }' | sort -u |
    sed 's/^_//; s/\$.*//' | awk '
        /^(stat|fstat|lstat|fstatat|stat64|fstat64|lstat64|getattrlist|getattrlistbulk|fgetattrlist|getattrlistat)$/ {
            print "NSPrivacyAccessedAPICategoryFileTimestamp" }
        /^(mach_absolute_time|mach_approximate_time|mach_continuous_time)$/ {
            print "NSPrivacyAccessedAPICategorySystemBootTime" }
        /^(statfs|statvfs|fstatfs|fstatvfs)$/ { print "NSPrivacyAccessedAPICategoryDiskSpace" }' | sort -u)
declared=$(sed -n 's,.*<string>\(NSPrivacyAccessedAPICategory.*\)</string>.*,\1,p' \
    "$root/packaging/apple/PrivacyInfo.xcprivacy" | sort -u)
if [ "$used" != "$declared" ]; then
    echo "used by the objects:"
    echo "$used"
    echo "declared in PrivacyInfo.xcprivacy:"
    echo "$declared"
    exit 1
fi
echo "declared and used: ${used:-nothing}"
