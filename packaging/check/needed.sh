#!/bin/sh
# needed.sh READELF SHARED: libframewalk needs libc and nothing else.
set -eu
needed=$("$1" -d "$2" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
echo "needs: $needed"
for library in $needed; do
    case $library in
    libc.so.*) ;;
    # The loader itself, for __tls_get_addr and the like: part of libc.
    ld-linux*) ;;
    *)
        echo "not libc: $library"
        exit 1
        ;;
    esac
done
