# ./run demo: builds, runs a program under watch, and dumps one that hangs. Sourced by ./run.
# shellcheck shell=sh

run_demo() {
    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool
    build release
    tool=build/release/src/framewalk

    say "framewalk run --calls getaddrinfo,open build/release/examples/loop_demo"
    "$tool" run --calls getaddrinfo,open build/release/examples/loop_demo

    say "What this shows"
    cat <<'END'
The program knows nothing of Framewalk. Its loop served 60 events; two of them took too long, and each is shown with
the line to look at: make_thumbnail computed, and find_server waited for an answer in the middle of its turn. The
waits of the loop itself are no hangs. --out DIR keeps the reports, for flame graphs and collectors.

END

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

    say "What that shows"
    cat <<'END'
The main thread hangs: draw_window waits in read_setting for a lock.
The thread "settings" holds it: load_settings took the lock and waits in read for a pipe nobody writes to.
The rest is well: eight idle workers (one stack, folded), one thread that computes, one that sleeps.
END
}
