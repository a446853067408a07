# ./run bench [NAME]: ours beside the peers. Sourced by ./run.
# shellcheck shell=sh

run_bench() {
    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool $packages_bench
    build bench
    sh bench/run.sh build/bench "${1:-}"
}
