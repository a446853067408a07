# ./run demo: builds, starts a program that hangs, dumps it. Sourced by ./run.
# shellcheck shell=sh

run_demo() {
    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool
    build release
    tool=build/release/src/framewalk

    ready=$log_folder/hang_demo.out
    : >"$ready"
    build/release/examples/hang_demo >"$ready" &
    demo_pid=$!
    trap 'kill "$demo_pid" 2>/dev/null || :' EXIT INT TERM
    tries=0
    until grep -q ready "$ready"; do
        tries=$((tries + 1))
        [ "$tries" -le 100 ] || die "the sample program did not start"
        sleep 0.1
    done

    say "framewalk dump $demo_pid"
    "$tool" dump "$demo_pid"
    kill "$demo_pid"
    wait "$demo_pid" 2>/dev/null || :
    trap - EXIT INT TERM

    say "What this shows"
    cat <<'END'
The main thread hangs: draw_window waits in read_setting for a lock.
The thread "settings" holds it: load_settings took the lock and waits in read for a pipe nobody writes to.
The rest is well: eight idle workers (one stack, folded), one thread that computes, one that sleeps.
END
}
