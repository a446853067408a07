# How far a command has come that writes into a log: a line that changes on a terminal, else a line a minute. Sourced by ./run.
# shellcheck shell=sh

progress_watcher=

# progress_begin LOG EXPRESSION: until progress_end. EXPRESSION is sed's, and prints of a line of the log how far it is.
# The command itself stays in the foreground, so that Ctrl-C reaches it; what watches ends with the script.
progress_begin() {
    (
        seconds=0
        shown=
        while sleep 1 && kill -0 $$ 2>/dev/null; do
            seconds=$((seconds + 1))
            state=$(tail -n 5 "$1" 2>/dev/null | sed -n "$2" | tail -n 1)
            if [ -t 1 ]; then
                printf '\r   %s, %d s \033[K' "$state" "$seconds"
            elif [ $((seconds % 60)) -eq 0 ] && [ "$state" != "$shown" ]; then
                echo "   $state after $seconds s"
                shown=$state
            fi
        done
    ) &
    progress_watcher=$!
}

progress_end() {
    kill "$progress_watcher" 2>/dev/null || :
    wait "$progress_watcher" 2>/dev/null || :
    [ ! -t 1 ] || printf '\r\033[K'
}
