# ./run fuzz [TARGET] [SECONDS]: runs fuzz targets, each from its corpus. Sourced by ./run.
# shellcheck shell=sh

run_fuzz() {
    only=
    seconds=60
    for argument in "$@"; do
        case $argument in
        *[!0-9]*) only=${argument%_fuzz} ;;
        *) seconds=$argument ;;
        esac
    done

    [ -z "$only" ] || [ -f "fuzz/${only}_fuzz.c" ] || die "no such fuzz target: $only"

    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool $packages_fuzz
    build fuzz
    set --
    for source in fuzz/*_fuzz.c; do
        target=$(basename "$source" _fuzz.c)
        if [ "${only:-$target}" = "$target" ]; then
            set -- "$@" "$target"
        fi
    done
    found=$#
    while [ $# -gt 0 ]; do # as many at once as there are processors: all take the same time
        batch=
        count=0
        while [ $# -gt 0 ] && [ "$count" -lt "$jobs" ]; do
            fuzz_one "$1" &
            batch="$batch $!"
            count=$((count + 1))
            shift
        done
        failed=
        for pid in $batch; do
            wait "$pid" || failed=1
        done
        [ -z "$failed" ] || exit 1
    done
    echo "$found fuzz targets ran clean"
}

# New inputs stay in build/; a crash leaves its input there, and is the end.
fuzz_one() {
    corpus=build/fuzz/corpus/$1
    log=$log_folder/fuzz-$1.log
    mkdir -p "$corpus"
    set -- "$1" "$corpus"
    [ ! -d "fuzz/corpus/$1" ] || set -- "$@" "fuzz/corpus/$1"
    target=$1
    shift
    say "Fuzzing $target for $seconds s"
    if ! "build/fuzz/fuzz/${target}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=65536 -artifact_prefix="build/fuzz/$target-" "$@" </dev/null >"$log" 2>&1; then
        tail -n 60 "$log"
        die "$target failed; its input is build/fuzz/$target-*"
    fi
    echo "$target: $(tail -n 1 "$log")"
}
