#!/bin/sh
# exported.sh NM SHARED STATIC HEADER...: only fw_ symbols are global, in the shared and in the static library,
# and they are those that the headers declare. Of a .dylib STATIC is not looked at: Apple's linker makes what is
# hidden in an archive local when it links an image.
set -eu
nm=$1 shared=$2 static=$3
shift 3

case $shared in
*.dylib)
    apple=1
    # Mach-O puts an underscore before each name.
    globals() { "$nm" -g -U "$1" | awk 'NF == 3 { sub(/^_/, "", $3); print $3 }' | sort -u; }
    static=$shared
    ;;
*)
    apple=0
    globals() { "$nm" ${2:+"$2"} -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | sort -u; }
    ;;
esac

globals "$shared" -D >"$static.shared-names"
globals "$static" "" >"$static.static-names"
wrong=$(cat "$static.shared-names" "$static.static-names" | grep -Ev '^fw_[a-z0-9_]+$' | sort -u)
if [ -n "$wrong" ]; then
    echo "exported, but not part of the interface:"
    echo "$wrong"
    exit 1
fi

# Both libraries offer the same functions.
diff "$static.shared-names" "$static.static-names"

# FW_API begins each declaration; the name of the function is the word before its first bracket. What only Apple
# platforms have is not in an ELF library.
sed 's,/\*.*\*/,,' "$@" | awk -v apple="$apple" '
    /^#if defined\(__APPLE__\)/ { off = !apple } /^#if defined\(__linux__\)/ { off = apple } /^#else/ { off = 0 } /^#endif/ { off = 0 } off { next }
    /^FW_API / { on = 1; text = "" } on { text = text " " $0 }
    on && /\(/ { sub(/\(.*/, "", text); sub(/.*[ *]/, "", text); print text; on = 0 }' |
    sort -u >"$static.declared-names"
diff "$static.declared-names" "$static.shared-names"
echo "$(wc -l <"$static.shared-names") functions exported"
