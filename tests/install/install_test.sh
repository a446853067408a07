#!/bin/sh
# install_test.sh CMAKE BUILD ROOT CC GENERATOR: installs BUILD into a new prefix, moves the prefix, then builds and
# runs the program that README.md shows, four ways: pkg-config and find_package, shared and static.
set -eu
cmake=$1 build=$2 root=$3 cc=$4 generator=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"
prefix=$work/prefix

source=$work/source
mkdir "$source"
cp "$root/tests/install/CMakeLists.txt" "$source"
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$root/README.md" >"$source/consumer.c"

# run COMMAND...: the program must print the name of its own function.
run() {
    "$@" >"$work/output"
    cat "$work/output"
    grep -q '^main' "$work/output"
}

pc=$(find "$prefix" -name framewalk.pc)
libdir=$(dirname "$(dirname "$pc")")
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH

echo "pkg-config, shared"
# shellcheck disable=SC2046 # flags are several words
"$cc" -o "$work/shared" "$source/consumer.c" $(pkg-config --cflags --libs framewalk)
run env LD_LIBRARY_PATH="$libdir" "$work/shared"

echo "pkg-config, static"
# shellcheck disable=SC2046
"$cc" -static -o "$work/static" "$source/consumer.c" $(pkg-config --static --cflags --libs framewalk)
run "$work/static"

echo "find_package"
"$cmake" -S "$source" -B "$work/build" -G "$generator" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >/dev/null
"$cmake" --build "$work/build" >/dev/null
run "$work/build/consumer_shared"
run "$work/build/consumer_static"

if [ -x "$prefix/bin/framewalk" ]; then
    "$prefix/bin/framewalk" --version
fi
