#!/bin/sh
# sdk_test.sh CLANG ROOT: with APPLE_SDK, an SDK or a folder of them (as .../Contents/Developer/Platforms/*/Developer/SDKs
# holds, at any depth), compiles and links the library and the Objective-C example for each, without a warning, and the
# Swift example where swiftc is.
set -eu
clang=$1 root=$2
if [ -z "${APPLE_SDK:-}" ]; then
    echo "skip: APPLE_SDK names no SDK"
    exit 77
fi
# shellcheck source=tests/apple/sources.sh
. "$root/tests/apple/sources.sh"
linker=-fuse-ld=lld
[ "$(uname)" != Darwin ] || linker=-Wall # Xcode's own
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

targets_of() { # by the SDK's name
    case $1 in
    MacOSX*) echo x86_64-apple-macos10.14 arm64-apple-macos11 x86_64-apple-ios13.1-macabi ;;
    iPhoneOS*) echo arm64-apple-ios12 arm64e-apple-ios14 ;;
    iPhoneSimulator*) echo x86_64-apple-ios12-simulator arm64-apple-ios14-simulator ;;
    AppleTVOS*) echo arm64-apple-tvos12 ;;
    AppleTVSimulator*) echo x86_64-apple-tvos12-simulator arm64-apple-tvos14-simulator ;;
    WatchOS*) echo arm64_32-apple-watchos5 ;;
    WatchSimulator*) echo x86_64-apple-watchos5-simulator arm64-apple-watchos7-simulator ;;
    esac
}

built=0
find -L "$APPLE_SDK" -maxdepth 6 -name '*.sdk' -type d -prune | sort >"$work/sdks"
while read -r sdk; do
    for target in $(targets_of "$(basename "$sdk")"); do
        out=$work/$(basename "$sdk")-$target
        compile_all "$clang" "$root" "$out" -target "$target" -isysroot "$sdk"
        "$clang" -target "$target" -isysroot "$sdk" "$linker" -dynamiclib -Wl,-fatal_warnings \
            "$out"/*.o -o "$out/libframewalk.dylib"
        apple_upload_sources "$root" | compile_these "$clang" "$root" "$out/upload" -target "$target" -isysroot "$sdk" \
            -Wno-unused-command-line-argument -fobjc-arc
        "$clang" -target "$target" -isysroot "$sdk" "$linker" -dynamiclib -Wl,-fatal_warnings "$out/upload"/*.o \
            "$out/libframewalk.dylib" -lz -framework Foundation -o "$out/libframewalk-upload.dylib"
        for example in Hang Monitor Upload; do
            "$clang" -target "$target" -isysroot "$sdk" -I"$root/include" -fmodules \
                -fmodules-cache-path="$work/cache" -fobjc-arc -Wall -Wextra -Werror "$linker" -Wl,-fatal_warnings \
                -fmodule-map-file="$root/src/watch/apple/module.modulemap" -framework Foundation \
                "$root/examples/apple/$example.m" "$out/libframewalk.dylib" "$out/libframewalk-upload.dylib" -o "$out/$example"
            if command -v swiftc >/dev/null; then
                swiftc -target "$target" -sdk "$sdk" -I "$root/include" -I "$root/src/watch/apple" -typecheck -parse-as-library \
                    -warnings-as-errors "$root/examples/apple/$example.swift"
            fi
        done
        echo "$(basename "$sdk"), $target: compiled and linked"
        built=$((built + 1))
    done
done <"$work/sdks"
[ "$built" -gt 0 ] || { echo "no SDK that is known in $APPLE_SDK"; exit 1; }
