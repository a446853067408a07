#!/bin/sh
# targets_test.sh CLANG ROOT: the sources of the Apple package that know Apple's systems, for every platform and architecture
# they are meant for, against our own declarations of Apple's headers: not a warning. All sources against Apple's headers
# are system_test.sh's.
set -eu
clang=$1 root=$2
# shellcheck source=tests/apple/sources.sh
. "$root/tests/apple/sources.sh"
command -v "$clang" >/dev/null || { echo "skip: $clang is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"

apple_sources . | xargs grep -lE '__APPLE__|TARGET_OS_|[ _"<](mach|darwin|os/darwin|dlfcn|pthread|signal|ucontext)[-_./]' |
    grep -v '\.m$' >"$work/sources"
for target in $apple_targets; do
    compile_these "$clang" . "$work/out" -target "$target" -nostdlibinc -isystem tests/machhost/include -fsyntax-only \
        <"$work/sources" || { echo "$target: does not compile" >&2; exit 1; }
    echo "$target: $(wc -l <"$work/sources") sources"
done
