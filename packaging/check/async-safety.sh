#!/bin/sh
# async-safety.sh NM FOLDER OBJECT...: what the signal-safe path may call.
#
# FOLDER/async-safe-files lists the source files whose code runs in signal handlers or while threads
# are stopped; FOLDER/async-safe-calls the functions of libc that they may call. Every symbol that
# the objects of those files leave undefined must be defined by another of them or be on the list.
set -eu
nm=$1 folder=$2
shift 2

safe=
for object in "$@"; do
    source=${object##*framewalk_core.dir/}
    source=${source#./}
    source=${source%.o}
    if grep -qxF "$source" "$folder/async-safe-files"; then
        safe="$safe $object"
    fi
done
[ -n "$safe" ] || { echo "none of the files of async-safe-files is built"; exit 1; }

# shellcheck disable=SC2086 # one word per object
"$nm" -A $safe | awk -v allowed_file="$folder/async-safe-calls" '
    BEGIN { while ((getline line < allowed_file) > 0) if (line !~ /^(#|$)/) { split(line, w, " "); allowed[w[1]] = 1 } }
    { name = $NF; type = $(NF - 1); object = $1; sub(/:.*/, "", object); sub(/.*\//, "", object) }
    type == "U" || type == "w" { sub(/@.*/, "", name); wanted[name] = wanted[name] " " object; next }
    type ~ /^[TDBRVWCu]$/ { defined[name] = 1 }
    END {
        for (name in wanted)
            if (!(name in defined) && !(name in allowed)) { print name " is called by" wanted[name]; bad = 1 }
        exit bad
    }'
echo "the signal-safe path calls nothing forbidden"
