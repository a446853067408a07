#!/bin/sh
# run.sh BUILD [NAME]: measures every figure whose name begins with NAME and prints one line each;
# without NAME all but those of symbols.sh and watch.sh, which take longer (NAME `symbols`, `watch`: all of these),
# and of apple.sh, which have a build of their own.
#
#     name<TAB>ours<TAB>unit<TAB>peer<TAB>theirs<TAB>ratio<TAB>spread
#
# The sides of a figure are started in turn, so that what disturbs the machine disturbs all of them;
# figures are medians over the turns, spread is the wider of both sides' interquartile ranges in
# percent of its median. ratio > 1: ours is better. See README.md for what each figure means.
#
# A figure whose peer is not there or failed has FAIL in place of a ratio, and the exit status is 1: what was not
# compared must not look as if it had been.
set -eu
bin=$1/bench
tool=$1/src/framewalk
only=${2:-}
results=$1/bench/results
mkdir -p "$results"
rm -f "$results/lost"
tab=$(printf '\t')

# wanted NAME...: whether one of these figures was asked for.
wanted() {
    for name in "$@"; do
        case $name in
        "$only"*) return 0 ;;
        esac
    done
    return 1
}

# turns COUNT SIDE=COMMAND...: runs the commands in turn; SIDE's numbers go to results/SIDE, a line for
# each run. A side whose program is not there has none; one that failed is not asked again. One that took more than five
# minutes leaves results/SIDE.slow: it was there, and is behind all others.
turns() {
    count=$1
    shift
    rm -f "$results/failed"
    for side in "$@"; do
        : >"$results/${side%%=*}"
        rm -f "$results/${side%%=*}.slow"
    done
    while [ "$count" -gt 0 ]; do
        count=$((count - 1))
        for side in "$@"; do
            command=${side#*=}
            if [ ! -e "$results/failed" ] || ! grep -qxF "${side%%=*}" "$results/failed"; then
                command -v "${command%% *}" >/dev/null 2>&1 || continue
                # shellcheck disable=SC2086 # a command and its arguments
                timeout 300 $command >>"$results/${side%%=*}" 2>"$results/errors" || {
                    [ "$?" -ne 124 ] || : >"$results/${side%%=*}.slow"
                    echo "failed: $command" >&2
                    echo "${side%%=*}" >>"$results/failed"
                    head -n 2 "$results/errors" >&2
                }
            fi
        done
    done
}

# lost NAME UNIT PEER OURS THEIRS WHY: a figure that has nothing to stand beside.
lost() {
    printf '%s\t%s\t%s\t%s\t%s\tFAIL\t%s\n' "$1" "$4" "$2" "$3" "$5" "$6"
    echo "$1: $6" >>"$results/lost"
}

# finish: the exit status, and what was lost.
finish() {
    [ -e "$results/lost" ] || exit 0
    echo "figures without their peer:" >&2
    sort -u "$results/lost" >&2
    exit 1
}

# figure NAME UNIT OURS PEER THEIRS [SCALE]: one line of the table; OURS and THEIRS are sides measured by
# turns, SIDE:2 the second number of each line. SCALE multiplies both.
figure() {
    wanted "$1" || return 0
    if [ ! -s "$results/${5%:*}" ] && [ ! -s "$results/${3%:*}" ]; then
        lost "$1" "$2" "$4" "" "" "neither side ran"
    elif [ ! -s "$results/${3%:*}" ]; then
        lost "$1" "$2" "$4" "" "$(middle "$5" "${6:-1}" | cut -d ' ' -f 1)" "our side did not run"
    elif [ ! -s "$results/${5%:*}" ] && [ -e "$results/${5%:*}.slow" ]; then
        printf '%s\t%s\t%s\t%s\t\t\tmore than 300 s\n' "$1" "$(middle "$3" "${6:-1}" | cut -d ' ' -f 1)" "$2" "$4"
    elif [ ! -s "$results/${5%:*}" ]; then
        lost "$1" "$2" "$4" "$(middle "$3" "${6:-1}" | cut -d ' ' -f 1)" "" "$4 is not installed or failed"
    else
        set -- "$1" "$2" "$4" "$(middle "$3" "${6:-1}")" "$(middle "$5" "${6:-1}")"
        echo "$1$tab$2$tab$3$tab$4 $5" | awk -F "$tab" '{
            split($4, v, " ")
            spread = v[2] > v[4] ? v[2] : v[4]
            printf "%s\t%s\t%s\t%s\t%s\t%.2f\t%.0f%%\n", $1, v[1], $2, $3, v[3], v[1] ? v[3] / v[1] : 0, spread
        }'
    fi
}

# limit NAME UNIT OURS MOST: a figure of ours beside the most it may be.
limit() {
    echo "$4" >"$results/limit"
    figure "$1" "$2" "$3" limit limit
}

# alone NAME UNIT OURS: a figure that nobody else has.
alone() {
    wanted "$1" && [ -s "$results/$3" ] || return 0
    middle "$3" 1 | awk -v name="$1" -v unit="$2" '{ printf "%s\t%s\t%s\t-\t-\t-\t%.0f%%\n", name, $1, unit, $2 }'
}

# middle SIDE SCALE: median and interquartile range in percent.
middle() {
    case $1 in
    *:*) column=${1#*:} ;;
    *) column=1 ;;
    esac
    awk -v column="$column" '{ print $column }' "$results/${1%:*}" | sort -n | awk -v scale="$2" '
        { v[NR] = $1 }
        function at(part,   i) { i = int(part * (NR - 1) + 1.5); return v[i] }
        END { m = at(.5); printf "%.6g %.1f", m * scale, m ? 100 * (at(.75) - at(.25)) / m : 0 }'
}

# Prints the program of framehop's side, built where cargo is and has the crates. Without it the
# figure fails; why it could not be built is in the log.
framehop() {
    log=$results/framehop.log
    if [ "$(uname -m)" != x86_64 ]; then
        echo "framehop: its side is written for x86_64" >&2
    elif ! command -v cargo >/dev/null 2>&1; then
        echo "framehop: no cargo" >&2
    elif ! RUSTFLAGS="-C force-frame-pointers=no" CARGO_TARGET_DIR=$1-framehop timeout 300 cargo build \
        --release --locked --manifest-path "$(dirname "$0")/framehop/Cargo.toml" >"$log" 2>&1 </dev/null; then
        echo "framehop: cargo could not build it, see $log" >&2
    else
        echo "$1-framehop/release/bench-capture-cfi-framehop"
        return
    fi
    echo no-framehop
}

case $only in
symbols | convert* | lookup* | cli* | demangle*)
    # shellcheck source=bench/symbols.sh
    . "$(dirname "$0")/symbols.sh"
    finish
    ;;
apple*)
    # shellcheck source=bench/apple.sh
    . "$(dirname "$0")/apple.sh"
    finish
    ;;
watch*)
    # shellcheck source=bench/watch.sh
    . "$(dirname "$0")/watch.sh"
    finish
    ;;
esac

if wanted capture.fp.30 capture.fp.30.frames; then
    turns 9 "fp=$bin/bench_capture_fp ours" "fp-frames=$bin/bench_capture_fp ours-frames" \
        "fp-loop=$bin/bench_capture_fp loop" "fp-absl=$bin/bench_capture_fp_absl" \
        "fp-glibc=$bin/bench_capture_fp glibc"
    figure capture.fp.30 ns fp loop fp-loop
    figure capture.fp.30 ns fp absl fp-absl
    figure capture.fp.30 ns fp glibc fp-glibc
    figure capture.fp.30.frames ns fp-frames loop fp-loop
    figure capture.fp.30.frames ns fp-frames absl fp-absl
    figure capture.fp.30.frames ns fp-frames glibc fp-glibc
fi

if wanted capture.cfi.30 capture.cfi.30.addresses; then
    framehop=$(framehop "$1")
    turns 9 "cfi=$bin/bench_capture_cfi ours" "cfi-addresses=$bin/bench_capture_cfi ours-addresses" \
        "cfi-libunwind=$bin/bench_capture_cfi_libunwind" "cfi-glibc=$bin/bench_capture_cfi glibc" \
        "cfi-framehop=$framehop"
    figure capture.cfi.30 ns cfi libunwind cfi-libunwind
    figure capture.cfi.30 ns cfi framehop cfi-framehop
    figure capture.cfi.30 ns cfi glibc cfi-glibc
    figure capture.cfi.30.addresses ns cfi-addresses libunwind cfi-libunwind
    figure capture.cfi.30.addresses ns cfi-addresses framehop cfi-framehop
fi

if wanted capture.cfi.30.mixed; then
    turns 5 "mixed=$bin/bench_capture_cfi mixed ours" "mixed-libunwind=$bin/bench_capture_cfi_libunwind mixed"
    figure capture.cfi.30.mixed ns mixed libunwind mixed-libunwind
fi

if wanted capture.cfi.first; then
    turns 41 "first=$bin/bench_capture_cfi first ours" \
        "first-libunwind=$bin/bench_capture_cfi_libunwind first" \
        "first-glibc=$bin/bench_capture_cfi first glibc"
    figure capture.cfi.first us first libunwind first-libunwind 0.001
    figure capture.cfi.first us first glibc first-glibc 0.001
fi

if wanted capture.threads.64 capture.threads.64.held; then
    turns 9 "threads=$bin/bench_capture_threads ours" "threads-signal=$bin/bench_capture_threads signal"
    figure capture.threads.64 us threads signal threads-signal
    turns 3 "held50=$bin/bench_capture_threads held50" "held99=$bin/bench_capture_threads held99"
    alone capture.threads.64.held.p50 us held50
    alone capture.threads.64.held.p99 us held99
fi

if wanted names.lookup names.index; then
    many=$bin/libbench_many.so
    turns 5 "names=$bin/bench_names_lookup $many ours" "names-dladdr=$bin/bench_names_lookup $many dladdr" \
        "names-index=$bin/bench_names_lookup $many index"
    figure names.lookup ns names dladdr names-dladdr
    limit names.lookup ns names 150
    limit names.index.60000 ms names-index 100
fi

if wanted dump.256 dump.256.pause; then
    : >"$results/target"
    "$bin/bench_dump_target" >"$results/target" &
    target=$!
    trap 'kill "$target" 2>/dev/null || :' EXIT INT TERM
    tries=0
    until grep -q ready "$results/target"; do
        tries=$((tries + 1))
        [ "$tries" -le 100 ] || { echo "the target did not start" >&2; exit 1; }
        sleep 0.1
    done
    if wanted dump.256; then
        turns 9 "dump=$bin/bench_wall $tool dump $target" "dump-eu=$bin/bench_wall eu-stack -p $target"
        echo "thread apply all bt" >"$results/gdb-commands"
        turns 3 "dump-gdb=$bin/bench_wall gdb -batch -nx -p $target -x $results/gdb-commands"
        figure dump.256 ms dump eu-stack dump-eu
        figure dump.256 ms dump gdb dump-gdb
    fi
    if wanted dump.256.pause; then
        turns 9 "pause=$bin/bench_dump_pause ours $target" "pause-bare=$bin/bench_dump_pause bare $target"
        figure dump.256.pause us pause stop-copy-resume pause-bare
    fi
    kill "$target"
    wait "$target" 2>/dev/null || :
    trap - EXIT INT TERM
fi

finish
