# Debian packages that each command of ./run needs, and installing those that are missing. Sourced by ./run.
# shellcheck shell=sh

packages_build="gcc g++ libc6-dev cmake ninja-build pkg-config"
packages_tool="libcurl4-openssl-dev zlib1g-dev libdeflate-dev liblzma-dev libzstd-dev libjansson-dev
    libmicrohttpd-dev libsqlite3-dev libpq-dev libarchive-dev libseccomp-dev libssl-dev" # the second line: the collector's
command -v npm >/dev/null 2>&1 || packages_tool="$packages_tool nodejs npm" # builds its page; nodejs of other sources brings npm itself
# The second line decodes our reports by docs/framewalk-report.proto; the third are loops, and programs to watch;
# the fourth are the collector's databases, and a browser for its page.
packages_test="git libcmocka-dev musl-tools clang-19 lld-19 llvm-19 binutils dwz elfutils debuginfod zstd gdb xz-utils openssl procps util-linux
    protobuf-compiler python3 python3-protobuf
    libglib2.0-dev libuv1-dev libgtk-3-dev xvfb nodejs nginx-light nginx-dev
    postgresql sqlite3 chromium python3-yaml python3-jsonschema"
packages_cross="gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
    gcc-12-multilib qemu-user" # gcc-multilib itself conflicts with the cross compilers
packages_bench="libunwind-dev libabsl-dev elfutils gdb curl uftrace libglib2.0-dev libuv1-dev"
packages_apple="clang-19 lld-19 llvm-19" # bench in the Mach-O host
packages_symbols="libiberty-dev llvm-19 llvm-19-dev clang-19 binutils elfutils libdeflate-dev python3"
packages_fuzz="clang-19 libclang-rt-19-dev llvm-19"
packages_lint="git clang-19 clang-format-19 shellcheck mandoc libcmocka-dev libglib2.0-dev libuv1-dev python3" # it builds the tests

apt_log=$log_folder/apt.log

have_package() {
    [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null)" = "ii " ]
}

# as_root COMMAND...: directly when root, else through sudo.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# need_packages PACKAGE...: installs those that are missing; on other systems names what is missing.
need_packages() {
    if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
        need_commands_elsewhere "$@"
        return
    fi
    missing=
    for package in "$@"; do
        have_package "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    say "Installing$missing"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null 2>&1 ||
        die "this needs root, and there is no sudo. As root: apt-get install$missing"
    : >"$apt_log"
    # shellcheck disable=SC2086 # several words
    apt_get install -y --no-install-recommends --no-remove $missing || {
        apt_get update
        apt_get install -y --no-install-recommends --no-remove $missing
    } || {
        # That packages are not found follows from what comes first, when there is such.
        { grep '^[EW]:' "$apt_log" | grep -v 'Unable to locate' || grep '^E:' "$apt_log"; } | sort -u | head -n 5 >&2
        die "apt-get failed (all it said: $apt_log). Missing:$missing"
    }
}

# Without a package list the first install fails, and so may an update of which one source is down.
apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null >>"$apt_log" 2>&1
}

# On a system without dpkg the packages cannot be told; what can be told is whether the programs are there.
need_commands_elsewhere() {
    missing=
    for package in "$@"; do
        case $package in
        ninja-build) program=ninja ;;
        gcc | g++ | cmake | pkg-config | gdb | shellcheck | mandoc | clang-19 | clang-format-19 | python3) program=$package ;;
        gcc-aarch64-linux-gnu | gcc-arm-linux-gnueabihf) program=${package#gcc-}-gcc ;;
        qemu-user) program=qemu-aarch64 ;;
        lld-19) program=ld64.lld-19 ;;
        llvm-19) program=llvm-ar-19 ;;
        elfutils) program=eu-stack ;;
        *) continue ;; # libraries: CMake names those it does not find
        esac
        command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
    done
    [ -z "$missing" ] || die "this is not a Debian system, so nothing is installed for you. Missing:$missing
(the Debian packages that this command uses: $*)"
}
