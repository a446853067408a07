# shellcheck shell=sh disable=SC2154 # variables of the scripts that source this
# For builds.sh and builds_musl.sh, which set library, here, include and folder.
# shellcheck shell=sh disable=SC2154

failures=0

# try NAME MODE COMPILER FLAGS...
try() {
    name=$1 mode=$2
    shift 2
    source=$here/odd.c
    case $1 in *++*) source=$here/odd_throw.cc ;; esac
    if ! command -v "$1" >/dev/null; then
        echo "skip: $name: no $1"
        return
    fi
    compiler=$1
    shift
    if ! "$compiler" -D_GNU_SOURCE -I"$include" -w -o "$folder/odd" "$source" "$library" "$@" \
        -pthread 2>"$folder/log"; then
        echo "FAIL: $name does not build"
        head -5 "$folder/log"
        failures=$((failures + 1))
        return
    fi
    argument=$mode
    [ "$mode" != whole ] || argument=
    # shellcheck disable=SC2086 # no argument rather than an empty one
    if timeout 20 "$folder/odd" $argument >"$folder/log"; then
        echo "ok:   $name"
        sed 's/^/          /' "$folder/log"
    else
        echo "FAIL: $name"
        cat "$folder/log"
        failures=$((failures + 1))
    fi
}
