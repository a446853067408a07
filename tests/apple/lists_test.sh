#!/bin/sh
# lists_test.sh CMAKE ROOT TOOLCHAIN: Package.swift and Framewalk.podspec list what CMake builds for Apple.
set -eu
cmake=$1 root=$2 toolchain=$3
command -v clang-19 >/dev/null || { echo "skip: clang-19 is not installed"; exit 77; }
git -C "$root" rev-parse >/dev/null 2>&1 || { echo "skip: not a git checkout"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" -S "$root" -B "$work/build" -G Ninja --toolchain "$toolchain" -DFW_TESTS=OFF -DFW_EXAMPLES=OFF \
    >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
mkdir "$work/out"
sh "$root/packaging/apple/lists.sh" "$root" "$work/build/compile_commands.json" "$work/out"
for file in Package.swift Framewalk.podspec; do
    diff -u "$root/$file" "$work/out/$file" || {
        echo "$file is not what CMake builds for Apple; packaging/apple/lists.sh says how to write it"
        exit 1
    }
done
if command -v ruby >/dev/null; then
    ruby -c "$root/Framewalk.podspec"
fi
echo "$(grep -c "^ *'src/" "$root/Framewalk.podspec") sources listed"
