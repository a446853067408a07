#!/bin/sh
# exported.sh NM SHARED STATIC: only fw_ symbols are global, in the shared and in the static library.
set -eu
nm=$1 shared=$2 static=$3

wrong=$({ "$nm" -D --defined-only "$shared"; "$nm" -g --defined-only "$static"; } |
    awk 'NF == 3 && $3 !~ /^fw_[a-z0-9_]+$/ { print $3 }' | sort -u)
if [ -n "$wrong" ]; then
    echo "exported, but not part of the interface:"
    echo "$wrong"
    exit 1
fi

# Both libraries offer the same functions.
"$nm" -D --defined-only "$shared" | awk '{ print $3 }' | sort >"$static.shared-names"
"$nm" -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | sort >"$static.static-names"
diff "$static.shared-names" "$static.static-names"
echo "$(wc -l <"$static.shared-names") functions exported"
