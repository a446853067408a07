#!/bin/sh
# footprint.sh READELF SHARED LIMIT: static memory of libframewalk, in bytes at most LIMIT, and no
# symbol that is bound only when it is first called.
set -eu
# Index, name, type, address, offset, size... of each section that is written to.
"$1" -SW "$2" | sed 's/^ *\[ *[0-9]*\] *//' | awk -v limit="$3" '
    function number(hex,   i, n) {
        for (i = 1; i <= length(hex); i++)
            n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
        return n
    }
    ($2 == "PROGBITS" || $2 == "NOBITS" || $2 ~ /_ARRAY$/) && $7 ~ /W/ && $7 ~ /A/ { sum += number($5) }
    END {
        print "static memory: " sum + 0 " bytes of at most " limit
        exit !(sum > 0 && sum <= limit)
    }'
"$1" -dW "$2" | grep -q 'FLAGS.*NOW\|BIND_NOW' || {
    echo "bound lazily"
    exit 1
}
