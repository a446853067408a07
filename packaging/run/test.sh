# ./run test: every kind of test, one after the other. Sourced by ./run.
# shellcheck shell=sh

# check PRESET [CTEST ARGUMENT...]: builds the preset and runs its tests; what fails is remembered.
check() {
    preset=$1
    shift
    build "$preset"
    say "Testing $preset"
    log=$log_folder/test-$preset.log
    # Twice as many at once as there are processors: many wait, for a clock, a server, a browser.
    # shellcheck disable=SC2086 # a command and its options, or nothing
    if $wrapper ctest --preset "$preset" -j "$((jobs * 2))" "$@" </dev/null >"$log" 2>&1; then
        grep -E 'Skipped|tests passed|No tests' "$log"
    else
        cat "$log"
        failed_presets="$failed_presets $preset"
    fi
    skipped_parts "build/$preset/Testing/Temporary/LastTest.log"
}

# Most test programs hold many tests, and ctest tells nothing of those that were skipped alone.
skipped_parts() {
    parts=$(sed -n 's/^\[ *SKIPPED *\] \([A-Za-z0-9_]*\)$/\1/p' "$1" | sort -u | tr '\n' ' ')
    [ -z "$parts" ] || echo "Skipped in part, for want of test data, rights or programs: $parts"
}

# The sanitizers' shadow memory and an address space laid out at random do not always agree: fixed
# addresses are used where the system lets us ask for them.
fixed_addresses() {
    if setarch -R true 2>/dev/null; then
        echo "setarch -R"
    fi
}

run_test() {
    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool $packages_test $packages_cross
    rm -f "$log_folder"/test-*.log
    failed_presets=
    wrapper=
    check test
    wrapper=$(fixed_addresses)
    check asan
    check tsan
    wrapper=
    check i386
    check aarch64
    check armv7
    check apple-x86_64
    check apple-arm64
    [ -z "$failed_presets" ] || echo "Failed:$failed_presets"
    test_summary
    [ -z "$failed_presets" ]
}

# One line over all runs: skipped tests count as neither.
test_summary() {
    cat "$log_folder"/test-*.log | awk '
        /tests? passed, .* failed out of/ { total += $NF; failed += $4 }
        /\*\*\*Skipped/ { skipped++ }
        END {
            if (skipped) printf "%d skipped\n", skipped
            printf "%d passed, %d failed\n", total - failed - skipped, failed
        }'
}
