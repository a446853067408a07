# ./run test: the fast set of tests, or with --all every kind of test, one after the other. Sourced by ./run.
# shellcheck shell=sh

# check PRESET [CTEST ARGUMENT...]: builds the preset and runs its tests; what fails is remembered.
check() {
    preset=$1
    shift
    build "$preset"
    say "${step:+$step }Testing $preset"
    log=$log_folder/test-$preset.log
    : >"$log"
    progress_begin "$log" 's|^ *\([0-9]*/[0-9]*\) Test .*|\1 tests|p'
    tested=1
    # Twice as many at once as there are processors: many wait, for a clock, a server, a browser. One that fails is run
    # again; that it had to be is told (again_passed).
    # shellcheck disable=SC2086 # a command and its options, or nothing
    $wrapper ctest --preset "$preset" -j "$((jobs * 2))" --repeat until-pass:2 "$@" </dev/null >"$log" 2>&1 || tested=
    progress_end
    results=build/$preset/Testing/Temporary
    if [ -z "$tested" ]; then
        show_failed "$results"
        failed_presets="$failed_presets $preset"
    fi
    grep -E 'tests passed|No tests' "$log" || tail -n 5 "$log"
    again_passed "$log"
    skipped_parts "$log" "$results/LastTest.log" "$log_folder/skipped-$preset.txt"
}

# show_failed FOLDER: what the failing tests printed, each by its end, and nothing of the others.
show_failed() {
    [ -f "$1/LastTestsFailed.log" ] || return 0
    sed 's/^[0-9]*://' "$1/LastTestsFailed.log" | while read -r name; do
        printf -- '---- %s failed; the end of what it printed (all: %s)\n' "$name" "$1/LastTest.log"
        awk -v name="$name" '
            /^[0-9]+\/[0-9]+ Testing: / { inside = $3 == name; next }
            inside && /^"[^"]*" (start|end) time: / { next }
            inside { print }' "$1/LastTest.log" | grep -vE '^\[ +(RUN|OK) +\]|^-+$|^$' | tail -n 60
    done
}

# again_passed LOG: a test that passes only at the second try is a defect, of it or of what it tests.
again_passed() {
    again=$(sed -n 's|^ *Test *#[0-9]*: \([^ ]*\) .* Passed .*|\1|p' "$1" | tr '\n' ' ') # those lines have no number of how many
    [ -z "$again" ] || echo "Passed at the second try alone: $again"
}

# skipped_parts LOG DETAILS LIST: how many were skipped, and where their names are. Most test programs hold many tests, and
# ctest tells nothing of those that were skipped alone.
skipped_parts() {
    {
        sed -n 's|^ *[0-9]*/[0-9]* Test *#[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*|\1|p' "$1"
        sed -n 's/^\[ *SKIPPED *\] \([A-Za-z0-9_]*\)$/\1 (one of several)/p' "$2"
    } | sort -u >"$3"
    count=$(wc -l <"$3")
    [ "$count" -eq 0 ] || echo "$count skipped, for want of test data, rights or programs: $3"
}

# The sanitizers' shadow memory and an address space laid out at random do not always agree: fixed
# addresses are used where the system lets us ask for them.
fixed_addresses() {
    if setarch -R true 2>/dev/null; then
        echo "setarch -R"
    fi
}

run_test() {
    case ${1:-} in
    '' | --all) ;;
    *) die "test takes --all, not '$1'" ;;
    esac
    rm -f "$log_folder"/test-*.log "$log_folder"/skipped-*.txt
    failed_presets=
    wrapper=
    step=
    if [ "${1:-}" = --all ]; then
        test_all
    else
        test_fast
    fi
    [ -z "$failed_presets" ] || echo "Failed:$failed_presets"
    test_summary "$log_folder"/test-*.log
    [ -z "$failed_presets" ]
}

test_fast() {
    echo "The fast set of tests: five minutes on two processors the first time, with installing and building, and 800 MB in"
    echo "build/ beside 900 MB of packages. ./run test --all is everything."
    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool $packages_fast
    check fast
}

test_all() {
    echo "All tests in 10 builds: an hour on two processors the first time, 6 GB in build/ beside 2.6 GB of packages, among"
    echo "them a browser, PostgreSQL, nginx and cross compilers. Their services are neither started nor enabled."
    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool $packages_page $packages_fast $packages_test $packages_cross
    need_apple_headers
    number=0
    for preset in test asan tsan i386 aarch64 armv7 apple-x86_64 apple-arm64 apple-x86_64-debug apple-arm64-debug; do
        number=$((number + 1))
        step="[$number/10]"
        if [ -n "${FW_CI_UNTIL:-}" ] && [ "$(date +%s)" -ge "$FW_CI_UNTIL" ]; then
            say "$step Left out, for an hour of CI is over: $preset"
            continue
        fi
        wrapper=
        set --
        case $preset in
        asan | tsan) wrapper=$(fixed_addresses) ;;
        # What depends on frames that an optimiser makes; those left out compute alone, for minutes.
        apple-*-debug) set -- -E '^(async|stack_table|stack_names|calls_shapes_.)$' ;;
        esac
        check "$preset" "$@"
    done
}

# test_summary LOG...: one line over all runs. Skipped tests count as neither passed nor failed.
test_summary() {
    cat "$@" | awk '
        /tests? passed, .* failed out of/ { total += $NF; failed += $4 }
        /\*\*\*Skipped/ { skipped++ }
        END { printf "%d passed, %d failed, %d skipped\n", total - failed - skipped, failed, skipped }'
}
