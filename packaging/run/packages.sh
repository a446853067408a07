# Debian packages that each command of ./run needs, and installing those that are missing. Sourced by ./run.
# shellcheck shell=sh

packages_build="gcc g++ libc6-dev cmake ninja-build pkg-config"
packages_tool="libcurl4-openssl-dev zlib1g-dev libdeflate-dev liblzma-dev libzstd-dev libjansson-dev
    libmicrohttpd-dev libsqlite3-dev libpq-dev libarchive-dev libseccomp-dev libssl-dev" # the second line: the collector's
packages_page= # build the collector's page
command -v npm >/dev/null 2>&1 || packages_page="nodejs npm" # nodejs of other sources brings npm itself
# What ./run test needs; clang makes Mach-O programs. Few, for it shall be done in five minutes on a bare machine.
packages_fast="libcmocka-dev clang-19 lld-19 llvm-19 binutils dwz elfutils zstd xz-utils openssl procps util-linux
    gdb python3 python3-yaml python3-jsonschema protobuf-compiler python3-protobuf libuv1-dev libglib2.0-dev"
# Other programs to watch, the collector's databases, and a browser for its page; python3-venv fetches Apple's headers.
packages_test="git musl-tools debuginfod libgtk-3-dev xvfb nodejs nginx-light nginx-dev postgresql sqlite3 chromium
    python3-venv"
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
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null 2>&1 ||
        die "this needs root, and there is no sudo. As root: apt-get install$missing"
    : >"$apt_log"
    # shellcheck disable=SC2086 # several words
    cost=$(install_cost $missing)
    if [ -z "$cost" ]; then # there is no list of packages, or it does not know them
        apt_get update || true
        # shellcheck disable=SC2086
        cost=$(install_cost $missing)
    fi
    say "Installing${cost:+ ($cost)}:$missing"
    quiet_services
    progress_begin "$apt_log" 's/^\(Get:[0-9]*\|Unpacking\|Setting up\) .*/\1/p'
    # shellcheck disable=SC2086
    install_packages $missing || { apt_get update && install_packages $missing; } || installed=
    progress_end
    services_as_before
    if [ -z "$installed" ]; then
        # That packages are not found follows from what comes first, when there is such.
        { grep '^[EW]:' "$apt_log" | grep -v 'Unable to locate' || grep '^E:' "$apt_log"; } | sort -u | head -n 5 >&2
        die "apt-get failed (all it said: $apt_log). Missing:$missing"
    fi
}

# What apt would fetch, and how much room it would take; nothing when it cannot say.
install_cost() {
    LC_ALL=C apt-get --assume-no -o Debug::NoLocking=1 install --no-install-recommends --no-remove "$@" 2>/dev/null |
        sed -n 's/^Need to get \(.*\) of archives.*/\1 to fetch/p; s/^After this operation, \(.*\) of additional disk.*/\1 of disk/p' |
        paste -s -d ',' | sed 's/,\([0-9]* .B of\)/, \1/'
}

install_packages() {
    installed=1
    apt_get install -y --no-install-recommends --no-remove "$@"
}

# Services that come with the packages of tests, which start servers of their own. Those that were here before stay as they
# are; the others are neither started nor enabled.
services_of_packages="nginx:nginx-light postgresql:postgresql debuginfod:debuginfod"
policy=/usr/sbin/policy-rc.d # asked by packages before they start something; see invoke-rc.d(8)

quiet_services() {
    new_services=
    for pair in $services_of_packages; do
        case " $missing " in
        *" ${pair#*:} "*) [ -e "/etc/init.d/${pair%:*}" ] || new_services="$new_services ${pair%:*}" ;;
        esac
    done
    policy_is_ours=
    if [ -z "$new_services" ] || [ -e "$policy" ]; then
        return
    fi
    policy_is_ours=1
    trap 'services_as_before; exit 130' INT TERM
    {
        # shellcheck disable=SC2016 # the policy's own $1
        printf '#!/bin/sh\ncase "$1" in\n'
        for name in $new_services; do
            printf '%s | %s.* | %s@*) exit 101 ;;\n' "$name" "$name" "$name"
        done
        printf 'esac\n'
    } | as_root sh -c "cat >$policy && chmod 755 $policy"
}

services_as_before() {
    for name in $new_services; do
        as_root update-rc.d "$name" disable >>"$apt_log" 2>&1 || true
    done
    [ -n "$policy_is_ours" ] || return 0
    as_root rm -f "$policy"
    policy_is_ours=
    trap - INT TERM
}

# Without a package list the first install fails, and so may an update of which one source is down.
apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@" </dev/null >>"$apt_log" 2>&1
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
