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
