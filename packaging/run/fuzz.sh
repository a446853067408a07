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
    need_packages $packages_build $packages_fuzz
    build fuzz
    found=0
    for source in fuzz/*_fuzz.c; do
        target=$(basename "$source" _fuzz.c)
        if [ -z "$only" ] || [ "$only" = "$target" ]; then
            found=$((found + 1))
            fuzz_one "$target"
        fi
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
    tail -n 1 "$log"
}
