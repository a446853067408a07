# ./run bench [NAME]: ours beside the peers. Sourced by ./run.
# shellcheck shell=sh

run_bench() {
    case ${1:-} in
    apple*)
        [ "$(uname -m)" = x86_64 ] || die "the Apple figures are measured in the Mach-O host on x86_64"
        # shellcheck disable=SC2086
        need_packages $packages_build $packages_apple
        build apple-bench
        sh bench/run.sh build/apple-bench "$1"
        return
        ;;
    esac
    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool $packages_bench
    case ${1:-} in
    symbols* | convert* | lookup* | cli* | demangle*)
        # shellcheck disable=SC2086
        need_packages $packages_symbols
        ;;
    esac
    build bench
    sh bench/run.sh build/bench "${1:-}"
}

# ./run exactness [INPUT...]: our answers beside llvm-symbolizer's.
run_exactness() {
    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool $packages_test $packages_symbols
    build bench
    [ $# -gt 0 ] || set -- ceph vmlinux libc jvm program macho:../shared/data/debug
    for input in "$@"; do
        case $input in
        macho:*) ;;
        *) sh bench/inputs/fetch.sh build/bench/inputs "$input" ;;
        esac
    done
    python3 tests/exactness/exactness.py --build build/bench "$@"
}
