# The figures of the Apple side, in the Mach-O host. Sourced by run.sh, whose functions it uses, for `apple`
# and what begins with it; the build is that of the preset apple-bench. See README.md for what each figure means.
# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of run.sh
host="$1/tests/machhost/machhost $1/tests/machhost/system"

# library COUNT: a library of that many symbols, as the programs take it.
library() {
    echo "$bin/libbench_functions_$1.dylib:$1"
}

stop="$host $bin/bench_apple_stop $(library 10000)"

for threads in 1 8 64; do
    stem=apple.stop.50
    [ "$threads" = 1 ] || stem=$stem.$threads
    if wanted "$stem" "$stem.noscan"; then
        turns 7 "stop=$stop $threads ours" "stop-scan=$stop $threads scan" "stop-noscan=$stop $threads noscan" \
            "stop-bare=$stop $threads bare"
        figure "$stem" us stop per-frame-read stop-scan
        figure "$stem.noscan" us stop per-frame-read stop-noscan
        alone "$stem.bare" us stop-bare
    fi
    if [ "$threads" -gt 1 ] && wanted "$stem.at-once" "$stem.at-once.noscan"; then
        turns 5 "together=$stop $threads at-once" "together-scan=$stop $threads scan-at-once" \
            "together-noscan=$stop $threads noscan-at-once"
        figure "$stem.at-once" us together per-frame-read together-scan
        figure "$stem.at-once.noscan" us together per-frame-read together-noscan
    fi
done

for symbols in 1000 100000; do
    if wanted "apple.stop.50.symbols.$symbols"; then
        stop="$host $bin/bench_apple_stop $(library "$symbols") 1"
        turns 5 "stop=$stop ours" "stop-scan=$stop scan"
        figure "apple.stop.50.symbols.$symbols" us stop per-frame-read stop-scan
    fi
done

if wanted apple.name apple.name.index; then
    names="$host $bin/bench_apple_names $(library 100000)"
    turns 7 "name=$names ours" "name-scan=$names scan" "name-index=$names index"
    figure apple.name ns name linear-scan name-scan
    alone apple.name.index ms name-index
fi

if wanted apple.repeat apple.repeat.added; then
    repeat="$host $bin/bench_apple_repeat $(library 10000)"
    turns 7 "repeat=$repeat cache" "repeat-added=$repeat added" "repeat-lookups=$repeat lookups" "repeat-scan=$repeat scan"
    figure apple.repeat ns repeat symbolicate-again repeat-scan
    figure apple.repeat ns repeat lookups repeat-lookups
    limit apple.repeat.added ns repeat-added 100
fi

if wanted apple.capture.50 apple.capture.50.fp; then
    capture="$host $bin/bench_apple_repeat $(library 10000)"
    turns 7 "capture=$capture capture" "capture-fp=$capture capture-fp"
    alone apple.capture.50 ns capture
    alone apple.capture.50.fp ns capture-fp
fi
