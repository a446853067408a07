#!/bin/sh
# exported.sh NM SHARED STATIC HEADER...: only fw_ symbols are global, in the shared and in the static library,
# and they are those that the headers declare.
set -eu
nm=$1 shared=$2 static=$3
shift 3

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

# FW_API begins each declaration; the name of the function is the word before its first bracket. What only Apple
# platforms have is not in an ELF library.
sed 's,/\*.*\*/,,' "$@" | awk '/^#if defined\(__APPLE__\)/ { apple = 1 } /^#(else|endif)/ { apple = 0 } apple { next }
    /^FW_API / { on = 1; text = "" } on { text = text " " $0 }
    on && /\(/ { sub(/\(.*/, "", text); sub(/.*[ *]/, "", text); print text; on = 0 }' |
    sort -u >"$static.declared-names"
diff "$static.declared-names" "$static.shared-names"
echo "$(wc -l <"$static.shared-names") functions exported"
