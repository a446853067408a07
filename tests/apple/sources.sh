# Sourced by the tests beside it: the sources of the Apple package, as the podspec lists them, and what they are compiled for.
# shellcheck shell=sh

# What the package says and the oldest that its sources compile for, architecture by architecture.
# shellcheck disable=SC2034 # for the tests
apple_targets="x86_64-apple-macos10.14 i386-apple-macos10.13 arm64-apple-macos11 arm64e-apple-macos11
    arm64-apple-ios12 arm64e-apple-ios14 armv7-apple-ios10 arm64-apple-ios14-simulator x86_64-apple-ios12-simulator
    x86_64-apple-ios13.1-macabi arm64-apple-tvos12 arm64-apple-tvos14-simulator x86_64-apple-tvos12-simulator
    arm64_32-apple-watchos5 armv7k-apple-watchos3 arm64-apple-watchos9 arm64-apple-watchos7-simulator"

# apple_sources ROOT
apple_sources() {
    sed -n "/# begin: sources/,/# end: sources/s/^ *'\(.*\)',$/\1/p" "$1/Framewalk.podspec"
}

# apple_upload_sources ROOT: those of the product FramewalkUpload.
apple_upload_sources() {
    sed -n "/# begin: upload sources/,/# end: upload sources/s/^ *'\(.*\)',$/\1/p" "$1/Framewalk.podspec"
}

# compile_all CLANG ROOT OUT FLAG...: all of them, warnings as errors, to objects in OUT.
compile_all() {
    apple_sources "$2" | compile_these "$@"
}

# compile_these CLANG ROOT OUT FLAG...: the same for the sources named on standard input, one a line.
compile_these() {
    clang=$1 root=$2 out=$3
    shift 3
    mkdir -p "$out"
    # shellcheck disable=SC2016 # for the inner shell
    (
        cd "$root" || exit
        xargs -P "$(getconf _NPROCESSORS_ONLN)" -I FILE sh -c '
            object=$1/$(echo "$2" | tr / _).o file=$2
            shift 2
            "$@" -c "$file" -o "$object"' sh "$out" FILE \
            "$clang" -std=gnu11 -Iinclude -Isrc -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes \
            -Wunguarded-availability -Werror "$@"
    )
}
