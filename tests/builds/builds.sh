#!/bin/sh
# builds.sh CC CXX LIBRARY SOURCES INCLUDE: odd.c and odd_throw.cc built in many ways and run. Each
# program knows its right stacks; "early" are builds with code that has no unwind information, whose
# stacks may end early as long as they say so.
set -eu
cc=$1 cxx=$2 library=$3 here=$4 include=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/builds/try.sh
. "$here/try.sh"

for level in -O0 -O1 -O2 -O3 -Os; do
    try "gcc $level" whole "$cc" $level
    try "gcc $level, frame pointers" whole "$cc" $level -fno-omit-frame-pointer
done
try "clang -O2" whole clang-19 -O2
try "clang -O0, frame pointers" whole clang-19 -O0 -fno-omit-frame-pointer
try "clang -O2, frame pointers" whole clang-19 -O2 -fno-omit-frame-pointer
try "static" whole "$cc" -O2 -static
try "static-pie" whole "$cc" -O2 -static-pie
try "no PIE" whole "$cc" -O2 -no-pie -fno-pie
try "executable stack" whole "$cc" -O2 -Wl,-z,execstack
try "stripped" whole "$cc" -O2 -s
try "code not separated" whole "$cc" -O2 -Wl,-z,noseparate-code
try "link-time optimization" whole "$cc" -O2 -flto
try "profiling" whole "$cc" -O2 -pg
try "lld" whole clang-19 -O2 -fuse-ld=lld-19
case $("$cc" -dumpmachine) in
x86_64*)
    try "control-flow protection" whole "$cc" -O2 -fcf-protection=full
    try "AVX2" whole "$cc" -O3 -mavx2
    if grep -q avx512f /proc/cpuinfo; then
        try "AVX-512" whole "$cc" -O3 -mavx512f
    fi
    ;;
esac
try "no unwind tables" early "$cc" -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables
try "no unwind tables, -O0" early "$cc" -O0 -fno-asynchronous-unwind-tables -fno-unwind-tables
try "no unwind tables, frame pointers" early "$cc" -O2 -fno-omit-frame-pointer \
    -fno-asynchronous-unwind-tables -fno-unwind-tables
try "no unwind tables, clang" early clang-19 -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables
try "no .eh_frame_hdr" whole "$cc" -O2 -Wl,--no-eh-frame-hdr
try "no .eh_frame_hdr, static" whole "$cc" -O2 -static -Wl,--no-eh-frame-hdr
try "no .eh_frame_hdr, stripped" whole "$cc" -O2 -s -Wl,--no-eh-frame-hdr
try "C++ -O0" whole "$cxx" -O0
try "C++ -O2" whole "$cxx" -O2
try "C++ -O2, static" whole "$cxx" -O2 -static
try "C++ clang -O2" whole clang++-19 -O2
exit $((failures != 0))
