#!/bin/sh
# fetch.sh FOLDER INPUT...: makes the named inputs of the symbol benchmarks in FOLDER, where they are
# not there yet. Nothing is installed: packages are downloaded and single files taken out of them.
#
#   ceph     ceph-osd of Debian's ceph-osd-dbg, sections uncompressed; ceph.zlib as it is shipped
#   vmlinux  the kernel of Debian's linux-image-*-dbg
#   libc     the C library of libc6-dbg
#   jvm      libjvm.so of openjdk-17-dbg: C++ by gcc
#   program  RocksDB (C++ by clang) under a little Rust, built here from its crate
#   big      more than 3 GB of DWARF: the units of ceph many times over, as ELF and as dSYM
#
# Each is NAME.debug, with NAME.addresses (100,000 link-time addresses in code, drawn by lot).
# An input that cannot be had leaves NAME.skip with the reason.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/deb"
cd "$1"
shift

# download PACKAGE: prints the path of the package in the version that the archive has now.
download() {
    (cd deb && apt-get -qq download "$1" >/dev/null 2>&1) || return 1
    find deb -name "$1_*.deb" | sort -V | tail -n 1
}

# take PACKAGE PATTERN: prints the path of the largest file of the package that matches.
take() {
    package=$(download "$1") && [ -n "$package" ] || return 1
    mkdir -p "tree-$1"
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "tree-$1" --wildcards "$2" || return 1
    find "tree-$1" -type f -size +64k -printf '%s %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-
}

# take_debug PACKAGE IMAGE-PACKAGE IMAGE-PATTERN: prints the path of the debug file that belongs to
# an image of another package.
take_debug() {
    image=$(take "$2" "$3") && [ -n "$image" ] || return 1
    id=$(readelf -n "$image" 2>/dev/null | sed -n 's/.*Build ID: //p')
    [ -n "$id" ] || return 1
    take "$1" "./usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug"
}

# The sections uncompressed, so that a figure says how DWARF is read and not how it is inflated.
uncompressed() {
    objcopy --decompress-debug-sections "$1" "$2.part" && mv "$2.part" "$2"
}

addresses() {
    python3 "$here/addresses.py" "$1.debug" 100000 >"$1.part" &&
        head -n 1 "$1.part" >"$1.addresses.1" &&
        head -n 1000 "$1.part" >"$1.addresses.1000" &&
        mv "$1.part" "$1.addresses"
}

make_ceph() {
    debug=$(take_debug ceph-osd-dbg ceph-osd ./usr/bin/ceph-osd) || return 1
    ln -f "$debug" ceph.zlib.debug
    uncompressed "$debug" ceph.debug
}

make_vmlinux() {
    package=$(apt-cache depends linux-image-amd64-dbg | sed -n 's/.*Depends: *//p' | head -n 1)
    [ -n "$package" ] && debug=$(take "$package" './usr/lib/debug/boot/vmlinux-*') || return 1
    uncompressed "$debug" vmlinux.debug
}

make_libc() {
    debug=$(take_debug libc6-dbg libc6 './lib/x86_64-linux-gnu/libc.so.6') || return 1
    uncompressed "$debug" libc.debug
}

make_jvm() {
    debug=$(take_debug openjdk-17-dbg openjdk-17-jre-headless './usr/lib/jvm/*/lib/server/libjvm.so') || return 1
    uncompressed "$debug" jvm.debug
}

make_program() {
    command -v cargo >/dev/null && command -v clang++-19 >/dev/null || return 1
    # Bindings are generated through the compiler's library, which is looked for by this name.
    mkdir -p libclang
    ln -sf "$(find /usr/lib/llvm-19/lib -name 'libclang-19.so*' | sort | head -n 1)" libclang/libclang.so
    LIBCLANG_PATH=$PWD/libclang CC=clang-19 CXX=clang++-19 CFLAGS="-O2 -g" CXXFLAGS="-O2 -g" \
        CARGO_TARGET_DIR=$PWD/program cargo build --release --locked \
        --manifest-path "$here/program/Cargo.toml" >program.log 2>&1 </dev/null || return 1
    ln -f program/release/bench-program program.debug
}

make_big() {
    sh "$here/fetch.sh" . ceph && [ -s ceph.debug ] &&
        cc -O2 "$here/repeat.c" -o repeat &&
        ./repeat ceph.debug big.debug 3200000000 &&
        ./repeat --dsym ceph.debug big.dSYM 4600000000
}

for input in "$@"; do
    if [ ! -s "$input.addresses" ]; then
        echo "preparing input $input" >&2
        rm -f "$input.skip"
        if ! "make_$input" || ! addresses "$input"; then
            echo "$input could not be fetched or built here" >"$input.skip"
        fi
    fi
done
