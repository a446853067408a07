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
    need_packages $packages_build $packages_tool $packages_page $packages_bench
    case ${1:-} in
    collector*)
        # shellcheck disable=SC2086
        need_packages $packages_fast $packages_test
        build bench
        s3_server
        python3 bench/collector.py build/bench "$1"
        return
        ;;
    esac
    case ${1:-} in
    symbols* | convert* | lookup* | cli* | demangle*)
        # shellcheck disable=SC2086
        need_packages $packages_symbols
        ;;
    esac
    build bench
    sh bench/run.sh build/bench "${1:-}"
}

# An S3 server that is not ours, when the Go proxy can be reached; else the tests' stand-in is used, and said.
s3_server() {
    command -v versitygw >/dev/null 2>&1 && return
    FW_VERSITYGW=$PWD/build/go/bin/versitygw
    if [ ! -x "$FW_VERSITYGW" ] && command -v go >/dev/null 2>&1; then
        GOBIN=${FW_VERSITYGW%/*} timeout 300 go install github.com/versity/versitygw/cmd/versitygw@latest \
            >build/go.log 2>&1 || true
    fi
    if [ -x "$FW_VERSITYGW" ]; then export FW_VERSITYGW; else unset FW_VERSITYGW; fi
}

# ./run exactness [INPUT...]: our answers beside llvm-symbolizer's.
run_exactness() {
    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool $packages_page $packages_fast $packages_test $packages_symbols
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
