# Sourced by the tests beside it: the sources of the Apple package, as the podspec lists them.
# shellcheck shell=sh

# apple_sources ROOT
apple_sources() {
    sed -n "/# begin: sources/,/# end: sources/s/^ *'\(.*\)',$/\1/p" "$1/Framewalk.podspec"
}

# compile_all CLANG ROOT OUT FLAG...: all of them, warnings as errors, to objects in OUT.
compile_all() {
    clang=$1 root=$2 out=$3
    shift 3
    mkdir -p "$out"
    # shellcheck disable=SC2016 # for the inner shell
    apple_sources "$root" | (
        cd "$root" || exit
        xargs -P "$(getconf _NPROCESSORS_ONLN)" -I FILE sh -c '
            object=$1/$(echo "$2" | tr / _).o file=$2
            shift 2
            "$@" -c "$file" -o "$object"' sh "$out" FILE \
            "$clang" -std=gnu11 -Iinclude -Isrc -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes \
            -Wunguarded-availability -Werror "$@"
    )
}
