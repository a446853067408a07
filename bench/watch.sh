# The figures of watching: hangs, calls, reports. Sourced by run.sh, whose functions it uses, when one of them is asked
# for (`watch` means all). See README.md for what each figure means.
# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of run.sh

if wanted watch.kill; then
    turns 1 "kill=$bin/bench_watch_kill $results/spool 1000"
    alone watch.kill reports kill
fi
