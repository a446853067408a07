# ./run lint: everything that can be said about the source without running it. Sourced by ./run.
# shellcheck shell=sh

run_lint() {
    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool $packages_page $packages_lint

    say "Formatting"
    our_files -name '*.[chm]' -o -name '*.cc' | xargs clang-format-19 --dry-run -Werror

    say "Shell scripts"
    shellcheck -x -a run # and what it sources
    our_files -name '*.sh' | grep -v '^./packaging/run/' | xargs shellcheck .ci/run

    say "Layers"
    sh packaging/check/layers.sh src

    say "Links and names in the documents"
    python3 packaging/check/docs.py

    say "Types of the page"
    [ -e web/node_modules/.package-lock.json ] || (cd web && npm ci --loglevel=error --no-audit --no-fund)
    (cd web && npm run --silent check)

    for compiler in gcc clang-19; do
        say "Warnings of $compiler"
        if [ "$compiler" = gcc ] && [ "${CI:-}" = true ]; then
            build test # which ./run test has built, with warnings as errors: nothing is left to do
        else
            lint_build "$compiler"
        fi
        lint_machhost "$compiler"
    done

    if ls packaging/man/*.[1-9] >/dev/null 2>&1; then
        say "Man pages"
        mandoc -Tlint -Wwarning packaging/man/*.[1-9]
    fi
    say "Nothing to complain about"
}

# our_files CONDITION...: the files of the project for which find's condition holds.
our_files() {
    find . \( -name build -o -name 'build-*' -o -name .git -o -name node_modules \) -prune -o -type f \( "$@" \) -print
}

# lint_build COMPILER: all code with warnings as errors. The exported symbols are checked by ctest.
# What clang warns of it finds before it optimises, so it need not; gcc finds some by optimising.
lint_build() {
    log=$log_folder/lint-$1.log
    case $1 in
    gcc) cxx=g++ flags="-O2 -g -DNDEBUG" ;;
    *) cxx=clang++-19 flags="-O0 -DNDEBUG" ;;
    esac
    if ! { cmake -S . -B "build/lint-$1" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_C_FLAGS_RELWITHDEBINFO="$flags" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$flags" \
        -DCMAKE_C_COMPILER="$1" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON &&
        cmake --build "build/lint-$1" -j "$jobs"; } >"$log" 2>&1; then
        cat "$log" >&2
        die "warnings or errors with $1"
    fi
}

# lint_machhost COMPILER: the loader of the Mach-O host, which the presets apple-* build with gcc. What that runs is
# compiled by clang alone, for Apple; there ./run test refuses warnings.
lint_machhost() {
    "$1" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Wshadow -Werror -O2 -fsyntax-only \
        -idirafter tests/machhost/include tests/machhost/loader/*.c || die "warnings or errors with $1"
}
