# The figures of watching: hangs, calls, reports. Sourced by run.sh, whose functions it uses, when one of them is asked
# for (`watch` means all). See README.md for what each figure means.
# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of run.sh

if wanted watch.kill; then
    turns 1 "kill=$bin/bench_watch_kill $results/spool 1000"
    alone watch.kill reports kill
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
