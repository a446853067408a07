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
bash_has=$(bash -c "source '$folder/framewalk.bash'
    COMP_WORDS=(framewalk dump --); COMP_CWORD=2; _framewalk; printf '%s\n' \"\${COMPREPLY[@]}\"" | sort -u)
zsh_has=$(grep -oE -- '--[a-z-]+=?[[}]' "$folder/framewalk.zsh" | grep -oE -- '--[a-z-]*[a-z]' | sort -u)
fish_has=$(grep 'complete -c framewalk -n \$dump' "$folder/framewalk.fish" |
    grep -oE -- ' -l [a-z-]+' | sed 's/ -l /--/' | sort -u)

bad=0
for shell in bash zsh fish; do
    eval "has=\$${shell}_has"
    if [ "$has" != "$wanted" ]; then
        echo "$shell offers other options than framewalk dump --help lists:"
        echo "help: $wanted" | tr '\n' ' '
        echo
        echo "$shell: $has" | tr '\n' ' '
        echo
        bad=1
    fi
done
exit $bad
