# The figures of symbolication: conversion, lookup, command line, demangling. Sourced by run.sh, whose
# functions it uses, when one of them is asked for (`symbols` means all): they fetch gigabytes, and with
# these at hand should take about twenty minutes. Peers that are known to be far slower are asked less often.
# See README.md for what each figure means.
# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of run.sh
inputs=$1/inputs
peers=$1-peers
here=$(dirname "$0")
[ "$only" != symbols ] || only=

# input NAME FIGURE...: whether the input is there; makes it when it is not, and says skip for the
# figures when it cannot be had.
input() {
    name=$1
    shift
    sh "$here/inputs/fetch.sh" "$inputs" "$name" || :
    [ -s "$inputs/$name.addresses" ] && return 0
    for figure in "$@"; do
        wanted "$figure" && printf '%s\tskip\t\t\t\t\t%s\n' "$figure" "$(cat "$inputs/$name.skip" 2>/dev/null || echo "no input")"
    done
    return 1
}

# peers_built: builds the peers that are Rust crates, once; figures of those that cannot be built fail.
peers_built() {
    [ ! -e "$results/peers.done" ] || return 0
    if ! command -v cargo >/dev/null 2>&1; then
        echo "no cargo: the peers that are crates are left out" >&2
    else
        log=$results/peers.log
        echo "building peers" >&2
        CARGO_TARGET_DIR=$peers cargo build --release --locked --manifest-path "$here/peers/Cargo.toml" \
            >"$log" 2>&1 </dev/null || echo "symbolic and blazesym could not be built, see $log" >&2
        for crate in "addr2line --version 0.27.1 --features bin" "dump_syms --version 2.3.9"; do
            name=${crate%% *}
            # shellcheck disable=SC2086 # name and options
            [ -x "$peers/bin/$name" ] || cargo install --locked --root "$peers" $crate >>"$log" 2>&1 </dev/null ||
                echo "$name could not be built, see $log" >&2
        done
    fi
    : >"$results/peers.done"
}

# dwarf_bytes FILE: of all its debug sections.
dwarf_bytes() {
    llvm-size-19 -A "$1" 2>/dev/null | awk '/debug_/ { bytes += $2 } END { print bytes }'
}

# size SIDE FILE: the size of a file in MB as the one number of a side.
size() {
    if [ -s "$2" ]; then
        wc -c <"$2" | awk '{ printf "%.3f\n", $1 / 1e6 }' >"$results/$1"
    else
        : >"$results/$1"
    fi
}

# measured SIDE COMMAND...: what turns takes: wall time, and memory into SIDE.memory.
measured() {
    side=$1
    shift
    : >"$results/$side.memory"
    echo "$side=$bin/bench_wall -m $results/$side.memory $*"
}

# of_memory FIGURE OURS PEER THEIRS
of_memory() {
    figure "$1" MB "$2.memory" "$3" "$4.memory"
}

# convert NAME TURNS: all figures of converting inputs/NAME.debug.
convert() {
    f=convert.$1
    wanted "$f" "$f.memory" "$f.size" "$f.threads" || return 0
    input "$1" "$f" "$f.memory" "$f.size" "$f.threads" || return 0
    peers_built
    file=$inputs/$1.debug
    out=$results/$1
    # The side that comes first would read from the disk what has left memory since the last turn.
    turns "$2" "$f.warm=$bin/bench_wall cat $file" \
        "$(measured "$f" "$tool convert --threads 2 -o $out.map $file")" \
        "$(measured "$f.gsym" "llvm-gsymutil-19 --quiet --num-threads=2 --convert $file -o $out.gsym")" \
        "$(measured "$f.symcache" "$peers/release/bench-symcache convert $file $out.symcache")" \
        "$(measured "$f.dump_syms" "$peers/bin/dump_syms --inlines -o $out.sym $file")"
    figure "$f" s "$f" gsymutil "$f.gsym" 0.001
    figure "$f" s "$f" symbolic "$f.symcache" 0.001
    figure "$f" s "$f" dump_syms "$f.dump_syms" 0.001
    # 400 MB of DWARF a second.
    dwarf_bytes "$file" | awk '{ print $1 / 400e3 }' >"$results/limit"
    figure "$f" s "$f" limit limit 0.001
    of_memory "$f.memory" "$f" gsymutil "$f.gsym"
    of_memory "$f.memory" "$f" symbolic "$f.symcache"
    of_memory "$f.memory" "$f" dump_syms "$f.dump_syms"
    # By themselves: whoever comes after a peer has its memory to clear first.
    turns 5 "$(measured "$f.2" "$tool convert --threads 2 -o $out.map $file")" \
        "$(measured "$f.1" "$tool convert --threads 1 -o $out.1.map $file")"
    figure "$f.threads" s "$f.2" one-thread "$f.1" 0.001
    if wanted "$f.threads" && [ -s "$out.map" ] && ! cmp -s "$out.map" "$out.1.map"; then
        echo "$f.threads: one thread and two threads give different maps" >&2
    fi
    size "$f.size" "$out.map"
    for peer in gsym symcache sym; do
        size "$f.size.$peer" "$out.$peer"
    done
    figure "$f.size" MB "$f.size" gsymutil "$f.size.gsym"
    figure "$f.size" MB "$f.size" symbolic "$f.size.symcache"
    figure "$f.size" MB "$f.size" dump_syms "$f.size.sym"
}

# The whole is to take no longer than inflating alone and converting what is not compressed.
convert_zlib() {
    f=convert.ceph.zlib
    wanted "$f" || return 0
    input ceph "$f" || return 0
    turns 3 "$f.warm=$bin/bench_wall cat $inputs/ceph.zlib.debug $inputs/ceph.debug" \
        "$(measured "$f" "$tool convert --threads 2 -o $results/zlib.map $inputs/ceph.zlib.debug")" \
        "$(measured "$f.plain" "$tool convert --threads 2 -o $results/zlib.map $inputs/ceph.debug")" \
        "$f.inflate=$bin/bench_inflate $inputs/ceph.zlib.debug" \
        "$(measured "$f.gsym" "llvm-gsymutil-19 --quiet --num-threads=2 --convert $inputs/ceph.zlib.debug -o $results/zlib.gsym")"
    if [ -s "$results/$f.plain" ] && [ -s "$results/$f.inflate" ]; then
        echo "$(middle "$f.plain" 1) $(middle "$f.inflate" 1)" | awk '{ print $1 + $3 }' >"$results/limit"
    else
        : >"$results/limit"
    fi
    figure "$f" s "$f" inflate+plain limit 0.001
    figure "$f" s "$f" gsymutil "$f.gsym" 0.001
}

# What was generated has no peer that could be waited for; the rate and the memory for each byte of
# DWARF are to be those of ceph: 400 MB a second, half of what gsymutil takes there.
convert_big() {
    for kind in debug dSYM; do
        f=convert.big
        [ "$kind" = debug ] || f=$f.dsym
        wanted "$f" "$f.memory" || continue
        input big "$f" "$f.memory" || continue
        turns 3 "$(measured "$f" "$tool convert --threads 2 -o $results/big.map $inputs/big.$kind")"
        dwarf_bytes "$inputs/big.$kind" | awk '{ print $1 / 400e3 }' >"$results/limit"
        figure "$f" s "$f" limit limit 0.001
        dwarf_bytes "$inputs/big.$kind" | awk '{ print 1.92 * $1 / 1e6 }' >"$results/limit"
        figure "$f.memory" MB "$f.memory" limit limit
    done
}

# made OUTPUT COMMAND...: whether a file to look up in is there; makes it when it is not.
made() {
    output=$1
    shift
    [ -s "$output" ] || timeout 600 "$@" >/dev/null 2>&1 </dev/null || return 1
}

# lookup NAME LIMIT: in process, 100,000 addresses in an order drawn by lot.
lookup() {
    f=lookup.$1
    wanted "$f" "$f.p99" || return 0
    input "$1" "$f" "$f.p99" || return 0
    peers_built
    file=$inputs/$1.debug
    out=$results/lookup-$1
    rm -f "$out.map"
    made "$out.map" "$tool" convert -o "$out.map" "$file" || echo "$f: no map" >&2
    made "$out.gsym" llvm-gsymutil-19 --quiet --num-threads=2 --convert "$file" -o "$out.gsym" || :
    made "$out.symcache" "$peers/release/bench-symcache" convert "$file" "$out.symcache" || :
    turns 5 "$f=$bin/bench_lookup_symmap $out.map $inputs/$1.addresses" \
        "$f.gsym=$bin/bench_lookup_gsym $out.gsym $inputs/$1.addresses" \
        "$f.symcache=$peers/release/bench-symcache lookup $file $out.symcache $inputs/$1.addresses"
    turns 3 "$f.blazesym=$peers/release/bench-blazesym $file $inputs/$1.addresses"
    for peer in gsym symcache blazesym; do
        figure "$f" ns "$f" "$peer" "$f.$peer"
    done
    limit "$f" ns "$f" "$2"
    for peer in gsym symcache blazesym; do
        figure "$f.p99" ns "$f:2" "$peer" "$f.$peer:2"
    done
}

# cold NAME COUNT TURNS [SLOW]: one run of the command, nothing known before but what the system has
# cached. SLOW: peers of llvm elfutils binutils that take minutes, asked once.
cold() {
    f=cli.cold.$2
    [ "$1" = ceph ] || f=cli.cold.$1.$2
    wanted "$f" || return 0
    input "$1" "$f" || return 0
    peers_built
    file=$inputs/$1.debug
    list=$inputs/$1.addresses.$2
    [ -e "$list" ] || list=$inputs/$1.addresses
    slow=" ${4:-} "
    set -- "$3" "$f.warm=$bin/bench_wall cat $file" \
        "$f=$bin/bench_wall -i $list $tool symbolicate --no-cache -a -f -i -e $file" \
        "$f.gimli=$bin/bench_wall -i $list $peers/bin/addr2line -a -f -i -e $file"
    for peer in llvm elfutils binutils; do
        case $peer in
        llvm) side="llvm-symbolizer-19 --no-demangle --inlines --functions=linkage --obj=$file" ;;
        elfutils) side="eu-addr2line -a -f -i -e $file" ;;
        binutils) side="addr2line -a -f -i -e $file" ;;
        esac
        case $slow in
        *" $peer "*) turns 1 "$f.$peer=$bin/bench_wall -i $list $side" ;;
        *) set -- "$@" "$f.$peer=$bin/bench_wall -i $list $side" ;;
        esac
    done
    turns "$@"
    best "$f" llvm gimli binutils elfutils
    figure "$f" ms "$f" best "$f.best"
    figure "$f" ms "$f" llvm-symbolizer "$f.llvm"
    figure "$f" ms "$f" gimli "$f.gimli"
    figure "$f" ms "$f" addr2line "$f.binutils"
    figure "$f" ms "$f" eu-addr2line "$f.elfutils"
}

# best FIGURE PEER...: the peer with the smallest median becomes FIGURE.best. None does when a peer is missing, which could
# be the best.
best() {
    f=$1
    shift
    : >"$results/$f.best"
    for peer in "$@"; do
        [ -s "$results/$f.$peer" ] || [ -e "$results/$f.$peer.slow" ] || return 0
    done
    for peer in "$@"; do
        [ -s "$results/$f.$peer" ] || continue
        echo "$(middle "$f.$peer" 1) $peer"
    done | sort -n | head -n 1 | while read -r _ _ peer; do
        cp "$results/$f.$peer" "$results/$f.best"
    done
}

with_map() {
    f=cli.map.100000
    wanted "$f" || return 0
    input ceph "$f" || return 0
    out=$results/lookup-ceph
    list=$inputs/ceph.addresses
    rm -f "$out.map"
    made "$out.map" "$tool" convert -o "$out.map" "$inputs/ceph.debug" || echo "$f: no map" >&2
    made "$out.gsym" llvm-gsymutil-19 --quiet --num-threads=2 --convert "$inputs/ceph.debug" -o "$out.gsym" || :
    # gsymutil wants the file beside each address.
    sed "s|\$| $out.gsym|" "$list" >"$results/gsym-addresses"
    turns 5 "$f=$bin/bench_wall -i $list $tool symbolicate --no-cache -a -f -i -e $out.map" \
        "$f.gsym=$bin/bench_wall -i $results/gsym-addresses llvm-gsymutil-19 --addresses-from-stdin"
    figure "$f" ms "$f" gsymutil "$f.gsym"
    limit "$f" ms "$f" 1000
}

# demangling NAME FILE: the names of a file, one a line, through each filter; nanoseconds a name.
demangling() {
    f=demangle.$1
    wanted "$f" || return 0
    if [ ! -s "$2" ]; then
        printf '%s\tskip\t\t\t\t\tno names\n' "$f"
        return 0
    fi
    turns 9 "$f=$bin/bench_wall -i $2 $tool demangle" "$f.llvm=$bin/bench_wall -i $2 llvm-cxxfilt-19" \
        "$f.binutils=$bin/bench_wall -i $2 c++filt"
    per_name=$(wc -l <"$2" | awk '{ print 1e6 / $1 }')
    figure "$f" ns "$f" llvm-cxxfilt "$f.llvm" "$per_name"
    figure "$f" ns "$f" c++filt "$f.binutils" "$per_name"
}

# demangling_call NAME FILE: the same names in process, without starting a program and reading text.
demangling_call() {
    f=demangle.call.$1
    wanted "$f" && [ -s "$2" ] || return 0
    turns 5 "$f=$bin/bench_demangle $2 ours" "$f.libiberty=$bin/bench_demangle $2 libiberty" \
        "$f.cxa=$bin/bench_demangle $2 cxa"
    figure "$f" ns "$f" libiberty "$f.libiberty"
    if [ "$1" = itanium ]; then
        figure "$f" ns "$f" __cxa_demangle "$f.cxa"
    fi
}

# repeated TIMES: the lines of its input that often, so that starting the program hardly counts.
repeated() {
    awk -v times="$1" '{ line[NR] = $0 } END { while (times--) for (i = 1; i <= NR; i++) print line[i] }'
}

demangle() {
    wanted demangle.itanium demangle.rust demangle.swift demangle.ceph demangle.call || return 0
    vectors=$here/../../shared/data/demangle
    [ ! -r "$vectors/itanium.tsv" ] || cut -f 1 "$vectors/itanium.tsv" | repeated 20 >"$results/names.itanium"
    [ ! -r "$vectors/rust.tsv" ] || cut -f 2 "$vectors/rust.tsv" | repeated 1000 >"$results/names.rust"
    [ ! -d "$vectors" ] || cat "$vectors"/swift-*.txt | sed -n 's/ *--->.*//p' | repeated 200 >"$results/names.swift"
    [ ! -r "$vectors/itanium.tsv" ] || cut -f 1 "$vectors/itanium.tsv" >"$results/call.itanium"
    [ ! -r "$vectors/rust.tsv" ] || cut -f 2 "$vectors/rust.tsv" | grep '^_' >"$results/call.rust"
    demangling_call itanium "$results/call.itanium"
    demangling_call rust "$results/call.rust"
    demangling itanium "$results/names.itanium"
    demangling rust "$results/names.rust"
    if wanted demangle.swift && [ -s "$results/names.swift" ]; then
        turns 9 "demangle.swift=$bin/bench_wall -i $results/names.swift $tool demangle"
        alone demangle.swift ms demangle.swift
    fi
    if wanted demangle.ceph && input ceph demangle.ceph; then
        llvm-nm-19 -j "$inputs/ceph.debug" 2>/dev/null | grep '^_[ZR]' | head -n 200000 >"$results/names.ceph" || :
        demangling ceph "$results/names.ceph"
    fi
}

rm -f "$results/peers.done"
convert ceph 3
convert vmlinux 3
convert libc 9
convert jvm 3
convert program 3
convert_zlib
convert_big
lookup ceph 1000
lookup vmlinux 1000
lookup libc 400
cold ceph 1 9 llvm
cold ceph 1000 5 "llvm elfutils binutils"
cold ceph 100000 3 "llvm elfutils binutils"
cold vmlinux 1 5
cold vmlinux 1000 3
cold vmlinux 100000 3 "llvm elfutils binutils"
cold libc 1 9
cold libc 1000 9
cold libc 100000 5 "elfutils binutils"
with_map
demangle
