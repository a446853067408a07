# ./run demo [--keep]: the whole loop on this machine. A program hangs under watch, its reports go to a collector, the
# debug file follows, and the groups get their names. Sourced by ./run.
# shellcheck shell=sh

# show COMMAND...: as one would type it, then what it prints.
show() {
    printf '%s$ %s%s\n' "$demo_dim" "$*" "$demo_plain"
    "$@"
}

run_demo() {
    demo_keep=
    case ${1:-} in
    '') ;;
    --keep) demo_keep=1 ;;
    *) die "demo takes --keep (the collector stays until Ctrl-C), not '$1'" ;;
    esac
    # shellcheck disable=SC2086 # lists of words
    need_packages $packages_build $packages_tool $packages_page
    build release
    demo_dim= demo_plain=
    if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
        demo_dim=$(printf '\033[2m') demo_plain=$(printf '\033[0m')
    fi
    demo_root=$PWD
    demo_folder=$(mktemp -d)
    demo_server=
    trap demo_end EXIT
    trap 'exit 130' INT TERM
    PATH=$demo_root/build/release/src:$PATH
    cd "$demo_folder"
    demo_loop
    demo_apple
    demo_page
}

demo_end() {
    [ -z "$demo_server" ] || { kill "$demo_server" && wait "$demo_server"; } 2>/dev/null || :
    cd "$demo_root"
    rm -rf "$demo_folder"
}

# The collector's address is $url, a token that may do all is in the file `token`.
demo_start() {
    umask 077
    : >serve.out
    framewalk serve --data data --listen 127.0.0.1:0 >serve.out 2>serve.err &
    demo_server=$!
    demo_tries=0
    until grep -q '^Ready' serve.out; do
        demo_tries=$((demo_tries + 1))
        if [ "$demo_tries" -gt 100 ] || ! kill -0 "$demo_server" 2>/dev/null; then
            cat serve.out serve.err >&2
            die "the collector did not start"
        fi
        sleep 0.1
    done
    url=$(sed -n 's|^Listening on \(.*\)/$|\1|p' serve.out)
    sed -n 's/^First token (shown once): //p' serve.out >token
}

demo_loop() {
    say "1. The collector: framewalk serve"
    demo_start
    echo "It listens on $url and keeps everything in one folder."

    say "2. A program that hangs, under watch"
    ln -s "$demo_root/build/release/examples/loop_demo" loop_demo
    show framewalk run --starved --calls getaddrinfo,open --out reports --quiet -- ./loop_demo
    echo "It knows nothing of Framewalk. What was seen is in the folder reports:"
    show framewalk inspect reports

    say "3. The reports to the collector"
    show framewalk push reports --to "$url" --key-file token
    show framewalk groups --wait 60 --to "$url" --key-file token
    echo "Grouped and ranked, but nobody has sent a debug file yet: addresses have no names."

    say "4. The debug file, as if a week later"
    # The C library as well: its names tell what a thread waits for.
    libc=$(ldd loop_demo | sed -n 's|.* => \(/.*/libc\.so\.6\) .*|\1|p')
    show framewalk push --wait --sources --include-stripped loop_demo ${libc:+"$libc"} --to "$url" --key-file token
    show framewalk groups --wait 60 --calls --to "$url" --key-file token
    echo "The same groups, renamed by themselves, each with the line to look at; and who calls what was watched."
}

demo_apple() {
    say "5. Reports of Apple's systems, with their dSYM"
    ln -s "$demo_root/examples/apple/notes" notes
    show framewalk push --wait notes/killed.ips notes/hang.json notes/notes.dSYM --to "$url" --key-file token
    show framewalk groups --wait 60 --to "$url" --key-file token
    echo "A crash report of the watchdog and a hang as MetricKit tells it are one group: it is one place in the program."
}

demo_command() {
    echo "The command is build/release/src/framewalk. To try it: build/release/src/framewalk run -- PROGRAM"
}

demo_page() {
    if [ -n "$demo_keep" ]; then
        say "6. The page: $url"
        echo "It asks for a token: $(cat token)"
        demo_command
        echo "Ctrl-C ends the collector and removes what it kept."
        wait "$demo_server"
        demo_server=
    else
        say "The page shows all this and more: ./run demo --keep leaves it running"
        demo_command
    fi
}
