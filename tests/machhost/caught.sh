#!/bin/sh
# caught.sh STATUS TEXT COMMAND...: the command must end with that status and say that (an extended regular expression).
wanted=$1 text=$2
shift 2
output=$("$@" 2>&1)
status=$?
echo "$output"
if [ "$status" -ne "$wanted" ]; then
    echo "ended with status $status, not $wanted"
    exit 1
fi
echo "$output" | grep -Eq "machhost: $text" || {
    echo "does not say: machhost: $text"
    exit 1
}
