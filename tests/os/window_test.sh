#!/bin/sh
# window_test.sh SOURCE FOLDER: the stopped window compiled for each Apple target, also those that nothing here runs;
# packaging/check/window.sh looks at what it can reach. On watchOS nothing of it may be left.
set -eu
source=$1 folder=$2
for tool in clang llvm-nm llvm-objdump; do
    command -v $tool-19 >/dev/null || {
        echo "skipped: no $tool-19"
        exit 77
    }
done
mkdir -p "$folder"
flags="-nostdlibinc -isystem $source/tests/machhost/include -I$source/include -I$source/src -std=gnu11
    -Wall -Wextra -Wconversion -Wshadow -Werror -fstack-protector-strong"
for target in x86_64-apple-macos11 arm64-apple-ios13 arm64e-apple-ios14 armv7-apple-ios9 i386-apple-macos10.13 \
    arm64-apple-tvos13 arm64_32-apple-watchos6; do
    for level in 0 2 s; do
        object=$folder/window-$target-O$level.o
        # shellcheck disable=SC2086 # flags are several words
        clang-19 -target $target $flags -O$level -c "$source/src/os/darwin/window.c" -o "$object"
        case $target in
        *watchos*)
            left=$(llvm-nm-19 "$object" | grep -v " ltmp" || :)
            test -z "$left" || {
                echo "$object: $left"
                exit 1
            }
            ;;
        *) sh "$source/packaging/check/window.sh" llvm-nm-19 llvm-objdump-19 "$source/packaging/check" "$object" ;;
        esac
    done
done
