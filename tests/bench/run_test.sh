#!/bin/sh
# run_test.sh BENCH_FOLDER: what the benchmarks make of peers that are not there, on canned programs: the figure fails and
# so does the run; `best` is the best of all peers or none; cargo is asked for each crate with its options.
set -eu
run=$1/run.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
build=$folder/build
mkdir -p "$build/bench" "$build/src" "$build/inputs" "$folder/bin"

program() {
    printf '#!/bin/sh\n%s\n' "$2" >"$1"
    chmod +x "$1"
}

fail() {
    echo "$1" >&2
    cat "$folder/out" >&2
    exit 1
}

# bench STATUS NAME: runs the figures and compares the exit status.
bench() {
    status=0
    PATH=$folder/bin:/usr/bin:/bin sh "$run" "$build" "$2" >"$folder/out" 2>"$folder/errors" || status=$?
    [ "$status" -eq "$1" ] || fail "$2: exit status $status, not $1"
}

# Both sides there, one that fails, and ours missing.
# shellcheck disable=SC2016 # of the canned programs
program "$build/bench/bench_capture_threads" 'case $1 in ours) echo 5 ;; signal) echo 10 ;; *) echo 1 ;; esac'
bench 0 capture.threads.64
grep -q "^capture.threads.64	5	us	signal	10	2.00" "$folder/out" || fail "no ratio"
# shellcheck disable=SC2016
program "$build/bench/bench_capture_threads" 'case $1 in signal) exit 1 ;; esac; echo 5'
bench 1 capture.threads.64
grep -q "^capture.threads.64	5	us	signal		FAIL	signal is not installed or failed" "$folder/out" || fail "not told"
grep -q "capture.threads.64" "$folder/errors" || fail "not told at the end"
# shellcheck disable=SC2016
program "$build/bench/bench_capture_threads" 'case $1 in ours) exit 1 ;; esac; echo 5'
bench 1 capture.threads.64
grep -q "FAIL	our side did not run" "$folder/out" || fail "not told"

# One address: each tool takes as many milliseconds as its canned wall says.
for file in libc.debug libc.addresses libc.addresses.1; do
    echo 0x1000 >"$build/inputs/$file"
done
# shellcheck disable=SC2016
program "$build/bench/bench_wall" 'case "$*" in
*symbolicate*) echo 4 ;;
*peers/bin/addr2line*) [ -x "$3" ] || exit 1; echo 9 ;;
*llvm-symbolizer*) echo 8 ;;
*eu-addr2line*) echo 3 ;;
*addr2line*) echo 7 ;;
*) echo 1 ;;
esac'
program "$build/src/framewalk" :
# shellcheck disable=SC2016
program "$folder/bin/cargo" 'for word in "$@"; do echo "$word"; done >>'"$folder"'/cargo
exit 1'
bench 1 cli.cold.libc.1 # gimli's addr2line cannot be built
grep -q "^cli.cold.libc.1	4	ms	gimli		FAIL" "$folder/out" || fail "gimli is not missed"
grep -q "^cli.cold.libc.1	4	ms	best		FAIL" "$folder/out" || fail "the best without gimli"
grep -qx -- "--features" "$folder/cargo" || fail "cargo was not given its options one by one"
grep -qx -- "0.27.1" "$folder/cargo" || fail "cargo was not given its options one by one"
mkdir -p "$build-peers/bin"
for name in addr2line dump_syms; do
    program "$build-peers/bin/$name" :
done
bench 0 cli.cold.libc.1
grep -q "^cli.cold.libc.1	4	ms	best	3	0.75" "$folder/out" || fail "eu-addr2line is not the best"
