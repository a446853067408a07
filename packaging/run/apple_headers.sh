# Apple's own headers of libSystem and its stub library, for the test `apple_system`. Sourced by ./run.
# shellcheck shell=sh

apple_headers=build/apple-headers

# need_apple_headers: lays down $apple_headers/include and $apple_headers/lib/libSystem.tbd. They come from PyPI's ziglang,
# whose wheel is 100 MB, of which 8 MB are kept. Without them (no network) the test is skipped, saying so.
need_apple_headers() {
    [ ! -f "$apple_headers/lib/libSystem.tbd" ] || return 0
    say "Fetching Apple's headers (100 MB)"
    rm -rf "$apple_headers"
    mkdir -p "$apple_headers"
    if ! { python3 -m venv "$apple_headers/venv" && fetch_apple_headers "$apple_headers"; } \
        >"$log_folder/apple-headers.log" 2>&1; then
        tail -n 3 "$log_folder/apple-headers.log" >&2
        echo "Apple's headers could not be fetched: the test apple_system is skipped" >&2
    fi
    rm -rf "$apple_headers/venv" "$apple_headers/wheel" "$apple_headers/unpacked"
}

# fetch_apple_headers FOLDER: the same files whatever this machine is.
fetch_apple_headers() {
    "$1/venv/bin/pip" --disable-pip-version-check download --no-deps --only-binary=:all: \
        --platform manylinux_2_12_x86_64 --require-hashes -r packaging/run/apple_headers.txt -d "$1/wheel" &&
        "$1/venv/bin/python" - "$1/wheel" "$1/unpacked" <<'END' &&
import pathlib, sys, zipfile
[wheel] = pathlib.Path(sys.argv[1]).glob("*.whl")
kept = ("ziglang/lib/libc/include/any-darwin-any/", "ziglang/lib/libc/darwin/")
with zipfile.ZipFile(wheel) as files:
    files.extractall(sys.argv[2], [name for name in files.namelist() if name.startswith(kept)])
END
        mv "$1/unpacked/ziglang/lib/libc/include/any-darwin-any" "$1/include" &&
        mv "$1/unpacked/ziglang/lib/libc/darwin" "$1/lib"
}
