#!/bin/sh
# builds_musl.sh CC LIBRARY SOURCES INCLUDE: odd.c on musl, which has no unwind information in its own
# code and no _dl_find_object.
set -eu
cc=$1 library=$2 here=$3 include=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/builds/try.sh
. "$here/try.sh"

for flags in -O0 -O2 "-O2 -static" "-O2 -no-pie -fno-pie" "-O2 -s" "-O2 -Wl,--eh-frame-hdr"; do
    # shellcheck disable=SC2086 # several words
    try "musl $flags" chain "$cc" $flags -idirafter /usr/include
done
exit $((failures != 0))
