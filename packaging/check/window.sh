#!/bin/sh
# window.sh NM OBJDUMP FOLDER OBJECT: what the stopped window (src/os/darwin/window.h) can reach, seen in its Mach-O
# object. Everything that it refers to outside of itself must be listed in FOLDER/window-calls, and nothing but
# the end of the process may be reached by a branch: a branch goes through a stub that dyld may bind lazily.
set -eu
nm=$1 objdump=$2 folder=$3 object=$4

# Names as C knows them: Mach-O puts an underscore before each.
outside=$("$nm" -u "$object" | awk 'NF { name = $NF; sub(/^_/, "", name); print name }' | sort -u)
case " $outside " in
*thread_suspend*) ;;
*)
    echo "$object does not suspend threads: not the window"
    exit 1
    ;;
esac
{
    sed 's/#.*//; s/^/allow /' "$folder/window-calls"
    for name in $outside; do echo "outside $name"; done
    "$objdump" -r "$object"
} | awk '
    $1 == "allow"   { for (i = 2; i <= NF; i++) allowed[$i] = 1; next }
    $1 == "outside" {
        outside[$2] = 1
        if ($2 in allowed) next
        print $2 " must not be called while a thread is suspended"
        bad = 1
        next
    }
    /^RELOCATION RECORDS FOR/ { code = /\[__text\]/; next }
    code { seen++ }
    code && $2 ~ /RELOC_.*BR|RELOC_VANILLA/ {
        name = $NF
        sub(/^_/, "", name)
        if (!(name in outside) || name == "__stack_chk_fail" || told[name]++) next
        print name " is called through a stub, which may be bound lazily"
        bad = 1
    }
    END {
        if (!seen) {
            print "no references of the code to be seen"
            bad = 1
        }
        exit bad
    }'
echo "$(echo "$outside" | wc -w) names outside of the window, all of them allowed"
