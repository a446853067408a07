# ./run ci: what continuous integration runs. The fast set in a clone that has nothing beside it, on as few packages as it
# installs itself, and there once more by somebody who is not root; then all tests, lint, and a short run of every fuzz target.
# The last line counts the tests. Sourced by ./run.
# shellcheck shell=sh

run_ci() {
    CI=true # a warning is an error
    # Where it runs it is ended after 90 minutes, and then nothing of it counts. What is not begun by then is left out, and
    # said: builds for other processors and the unoptimised ones, which come last.
    FW_CI_UNTIL=$(($(date +%s) + 60 * 60))
    export CI FW_CI_UNTIL
    need_packages git
    ci_log=$PWD/$log_folder/ci
    rm -rf "$ci_log"
    mkdir -p "$ci_log"
    ci_folder=$(mktemp -d)
    trap 'rm -rf "$ci_folder"' EXIT
    trap 'exit 130' INT TERM
    ci_failed=
    ci_clone
    ci_step all ./run test --all
    ci_step lint ./run lint
    fuzz_seconds=10
    [ "$(date +%s)" -lt "$FW_CI_UNTIL" ] || fuzz_seconds=3
    ci_step fuzz ./run fuzz "$fuzz_seconds"
    [ -z "$ci_failed" ] || echo "Failed:$ci_failed"
    ci_count
    [ -z "$ci_failed" ]
}

# ci_step NAME COMMAND...: what it prints is shown and kept; what fails is remembered.
ci_step() {
    name=$1
    shift
    { "$@" </dev/null 2>&1 && : >"$ci_log/$name.good"; } | tee "$ci_log/$name.txt"
    [ -e "$ci_log/$name.good" ] || ci_failed="$ci_failed $name"
}

# What is committed, without the test data and without what was built here.
ci_clone() {
    say "A clone with nothing beside it: $ci_folder/framewalk"
    printf '[safe]\n\tdirectory = *\n' >"$ci_folder/gitconfig" # whoever owns the folder that is cloned
    GIT_CONFIG_GLOBAL=$ci_folder/gitconfig git clone -q --no-local . "$ci_folder/framewalk"
    ci_step clone "$ci_folder/framewalk/run" test
    [ "$(id -u)" -eq 0 ] || return 0
    say "The same by an ordinary user"
    mkdir "$ci_folder/home"
    chown -R 65534:65534 "$ci_folder"
    chmod 755 "$ci_folder"
    ci_step user env HOME="$ci_folder/home" USER=nobody LOGNAME=nobody \
        setpriv --reuid=65534 --regid=65534 --clear-groups "$ci_folder/framewalk/run" test
}

# The sum of the lines that count.
ci_count() {
    cat "$ci_log"/*.txt | awk '
        /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { passed += $1; failed += $3; skipped += $5 }
        END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }'
}
