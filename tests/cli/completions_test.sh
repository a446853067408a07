#!/bin/sh
# completions_test.sh FOLDER FRAMEWALK: the completions parse, and offer exactly the options that
# `framewalk COMMAND --help` lists, for every command.
set -eu
folder=$1
framewalk=$2

bash -n "$folder/framewalk.bash"
if command -v zsh >/dev/null 2>&1; then zsh -n "$folder/framewalk.zsh"; fi
if command -v fish >/dev/null 2>&1; then fish -n "$folder/framewalk.fish"; fi

bad=0

# compare SHELL COMMAND: what it offers comes in on standard input.
compare() {
    has=$(sort -u)
    [ "$has" != "$wanted" ] || return 0
    echo "$1 offers other options than framewalk $2 --help lists:"
    printf '%s\n' "$wanted" "--- and $1" "$has"
    bad=1
}

work=$(mktemp)
trap 'rm -f "$work"' EXIT
commands=$("$framewalk" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -v '^help$')
for command in $commands; do
    wanted=$("$framewalk" "$command" --help | sed -n '/^usage/,/^Exit/p' | grep -o -- '^ .*' |
        grep -oE -- '(^ *(-[a-z_], )?|; | and |, )--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u)
    bash -c "source '$folder/framewalk.bash'
        COMP_WORDS=(framewalk $command --); COMP_CWORD=2; _framewalk
        printf '%s\n' \"\${COMPREPLY[@]}\"" >"$work"
    compare bash "$command" <"$work"
    sed -n "/^_framewalk_$command() {/,/^}/p" "$folder/framewalk.zsh" |
        grep -oE -- '--[a-z-]+=?[[}]' | grep -oE -- '--[a-z-]*[a-z]' >"$work"
    compare zsh "$command" <"$work"
    grep -F "complete -c framewalk -n \$$command " "$folder/framewalk.fish" |
        grep -oE -- ' -l [a-z-]+' | sed 's/ -l /--/' >"$work"
    compare fish "$command" <"$work"
done
exit $bad
