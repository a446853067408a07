#!/bin/sh
# async-safety.sh OBJDUMP FOLDER OBJECT...: what the signal-safe path calls, seen in the compiled code.
#
# The objects are compiled with a section for each function and variable, so relocations tell what
# each of them refers to. From the functions in FOLDER/async-safe-roots everything that can be
# reached is followed, function pointers in tables included; what is not defined in the objects
# must be listed in FOLDER/async-safe-calls (NAME* for all that begin so). A violation is printed
# with its chain of references. Mach-O objects (llvm-objdump) are translated to that form first;
# beside the common lists each kind of object has some of its own (async-safe-roots-elf, -elf64, -macho, ...).
#
# With FW_PATH=NAME another path is followed: from FOLDER/NAME-roots, which may call what FOLDER/NAME-calls lists besides.
set -eu
objdump=$1 folder=$2
shift 2

case $("$objdump" -h "$1") in
*mach-o*) lists=-macho ;;
*elf64*) lists='-elf -elf64' ;;
*) lists=-elf ;;
esac
references() {
    if [ "$lists" = -macho ]; then "$objdump" -h -t -r "$@" | awk -f "$folder/macho-refs.awk"; else "$objdump" -t -r "$@"; fi
}
list() { # KIND: the entries of async-safe-KIND: common ones, and those of the kind of objects
    sed 's/#.*//' "$folder/async-safe-$1"
    for own in $lists; do
        [ ! -f "$folder/async-safe-$1$own" ] || sed 's/#.*//' "$folder/async-safe-$1$own"
    done
}
path() { # KIND: of the path that is followed
    case $1${FW_PATH:-} in
    roots?*) sed 's/#.*//' "$folder/$FW_PATH-roots" ;;
    calls?*) list calls && sed 's/#.*//' "$folder/$FW_PATH-calls" ;;
    *) list "$1" ;;
    esac
}

{
    path roots | sed 's/^/root /'
    path calls | sed 's/^/allow /'
    references "$@"
} | awk '
    $1 == "root"  { for (i = 2; i <= NF; i++) root[$i] = 1; next }
    $1 == "allow" {
        for (i = 2; i <= NF; i++) {
            if (sub(/\*$/, "", $i)) prefix[$i] = 1
            else allowed[$i] = 1
        }
        next
    }
    function is_allowed(name,   p) {
        for (p in prefix) if (index(name, p) == 1) return 1
        return name in allowed || name ~ /^(\*ABS\*|\$)/
    }
    /file format/ { object = $1; sub(/:$/, "", object); sub(/.*\.dir\//, "", object); next }
    /^SYMBOL TABLE/ { symbols = 1; next }
    /^RELOCATION RECORDS FOR/ { symbols = 0; from = $4; gsub(/[\[\]:]/, "", from); from = object ":" from; next }
    symbols && NF >= 4 {
        name = $NF
        section = ""
        for (i = 2; i < NF; i++) if ($i ~ /^[.*]/ && $i != ".hidden") { section = $i; break }
        if (section == "") next
        if (section ~ /^\./) {
            if ($0 ~ /^[0-9a-f]+ g/) home[name] = object ":" section
            else { own[object ":" name] = object ":" section; if (name in root) home[name] = object ":" section }
        }
        next
    }
    !symbols && NF == 3 && $2 ~ /^R_/ {
        to = $3; sub(/[-+]0x[0-9a-f]+$/, "", to)
        edges[from] = edges[from] " " object "|" to
    }
    function node_of(object, name) {
        if (name ~ /^\./) return object ":" name
        if ((object ":" name) in own) return own[object ":" name]
        return name in home ? home[name] : ""
    }
    function chain(node,   text) {
        for (text = node; node in parent && parent[node] != ""; text = node " > " text) node = parent[node]
        return text
    }
    END {
        for (name in root) {
            if (!(name in home)) { print name " is in async-safe-roots, but not built"; bad = 1; continue }
            if (!(home[name] in parent)) { parent[home[name]] = ""; queue[++last] = home[name] }
        }
        while (first < last) {
            node = queue[++first]
            n = split(edges[node], list, " ")
            for (i = 1; i <= n; i++) {
                split(list[i], part, "|")
                next_node = node_of(part[1], part[2])
                if (next_node == "") {
                    if (is_allowed(part[2])) continue
                    if (!(part[2] in told)) print part[2] " must not be called: " chain(node)
                    told[part[2]] = bad = 1
                } else if (!(next_node in parent)) {
                    parent[next_node] = node
                    queue[++last] = next_node
                }
            }
        }
        if (!bad) print last " functions and tables reached, nothing forbidden"
        exit bad
    }'
