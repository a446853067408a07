#!/bin/sh
# completions_test.sh FOLDER FRAMEWALK: the completions parse, and offer exactly the options that
# `framewalk dump --help` lists.
set -eu
folder=$1
framewalk=$2

bash -n "$folder/framewalk.bash"
if command -v zsh >/dev/null 2>&1; then zsh -n "$folder/framewalk.zsh"; fi
if command -v fish >/dev/null 2>&1; then fish -n "$folder/framewalk.fish"; fi

wanted=$("$framewalk" dump --help | sed -n '/^usage/,/^Exit/p' | grep -o -- '^ .*' |
    grep -oE -- '(^ *(-[a-z], )?|; | and )--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u)
bad=0

# compare SHELL: what it offers comes in on standard input.
compare() {
    has=$(sort -u)
    [ "$has" != "$wanted" ] || return 0
    echo "$1 offers other options than framewalk dump --help lists:"
    printf '%s\n' "$wanted" "--- and $1" "$has"
    bad=1
}

work=$(mktemp)
trap 'rm -f "$work"' EXIT
bash -c "source '$folder/framewalk.bash'
    COMP_WORDS=(framewalk dump --); COMP_CWORD=2; _framewalk; printf '%s\n' \"\${COMPREPLY[@]}\"" >"$work"
compare bash <"$work"
grep -oE -- '--[a-z-]+=?[[}]' "$folder/framewalk.zsh" | grep -oE -- '--[a-z-]*[a-z]' >"$work"
compare zsh <"$work"
grep -F "complete -c framewalk -n \$dump" "$folder/framewalk.fish" | grep -oE -- ' -l [a-z-]+' |
    sed 's/ -l /--/' >"$work"
compare fish <"$work"
exit $bad
