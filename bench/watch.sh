# The figures of watching: hangs, calls, reports. Sourced by run.sh, whose functions it uses, when one of them is asked
# for (`watch` means all). See README.md for what each figure means.
# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of run.sh

if wanted watch.kill; then
    turns 1 "kill=$bin/bench_watch_kill $results/spool 1000"
    alone watch.kill reports kill
fi

if wanted watch.turn watch.turn.10 watch.idle watch.cpu; then
    turns 9 "turn=$bin/bench_watch_turn turn 1" "turn10=$bin/bench_watch_turn turn 10"
    limit watch.turn ns turn 10
    limit watch.turn.10 ns turn10 10
    turns 1 "idle=$bin/bench_watch_turn idle" "cpu=$bin/bench_watch_turn cpu"
    alone watch.idle "wake-ups/s" idle
    limit watch.cpu % cpu 0.1
fi

# find_figures NAME ARGUMENT...: both loops. Columns: see watch_find.h.
find_figures() {
    name=$1
    shift
    for loop in glib uv; do
        turns 1 "find=$bin/bench_watch_find_$loop $*"
        column=0
        for of in share duration duration.worst begin begin.worst false off; do
            column=$((column + 1))
            awk -v column="$column" '{ print $column }' "$results/find" >"$results/find-$of"
            unit=ms
            case $of in
            share) unit="of 1" ;;
            false | off) unit=hangs ;;
            esac
            alone "$name.$loop.$of" "$unit" "find-$of"
        done
    done
}

# Two loops with 200 hangs each take seven minutes; under load there are a quarter of them.
if wanted watch.find; then
    find_figures watch.find "${WATCH_HANGS:-200}"
fi
if wanted watch.find.loaded; then
    find_figures watch.find.loaded loaded "$((${WATCH_HANGS:-200} / 4))"
fi

if wanted watch.upload watch.upload.mb; then
    turns 5 "upload=$bin/bench_watch_upload ours 1000 4000" "upload-curl=$bin/bench_watch_upload curl 100 4000" \
        "upload-mb=$bin/bench_watch_upload ours-mb 20 1000000"
    figure watch.upload us upload curl upload-curl
    alone watch.upload.mb MB/s upload-mb
fi

# Side by side: with our thread beating the time (a program that writes reports), by the machine's clock, by records.
if wanted watch.call watch.call.8 watch.call.16 watch.call.new; then
    uftrace="uftrace record -l -d $results/uftrace.data $bin/bench_watch_call other"
    for depth in 30 8 16; do
        case $depth in
        30) part=watch.call ;;
        *) part=watch.call.$depth ;;
        esac
        wanted "$part" || continue
        turns 5 "call=$bin/bench_watch_call ours-beat $depth" "call-clock=$bin/bench_watch_call ours $depth" \
            "call-records=$bin/bench_watch_call ours-records $depth" \
            "call-preload=env LD_PRELOAD=$bin/libbench_watch_preload.so $bin/bench_watch_call other $depth" \
            "call-uftrace=$uftrace $depth"
        figure "$part" ns call preload call-preload
        figure "$part" ns call uftrace call-uftrace
        figure "$part.clock" ns call-clock preload call-preload
        figure "$part.clock" ns call-clock uftrace call-uftrace
        figure "$part.records" ns call-records preload call-preload
    done
    turns 9 "call-new=$bin/bench_watch_call new"
    limit watch.call.new us call-new 20
fi

# Only when asked for by name: ten minutes of ordinary turns while every processor is busy.
case $only in
watch.ordinary*)
    for loop in glib uv; do
        "$bin/bench_watch_find_$loop" ordinary "${WATCH_SECONDS:-600}" >"$results/ordinary"
        alone "watch.ordinary.$loop" "false hangs" ordinary
    done
    ;;
esac
