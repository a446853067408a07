#!/bin/sh
# layers.sh SRC: no file includes a header of a module further down in the order of the layers, and
# no header of the project is included by a path that goes up.
set -eu
cd "$1"
order="base arch object unwind os capture dwarf symmap demangle symbolicate report watch collector cli"

grep -rn --include='*.[ch]' --include='*.cc' '^ *# *include *"' . | awk -v order="$order" '
    BEGIN { n = split(order, names, " "); for (i = 1; i <= n; i++) rank[names[i]] = i }
    {
        split($0, part, ":"); file = substr(part[1], 3)
        split(file, folders, "/"); from = folders[1]
        header = $0; sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
        split(header, folders, "/"); to = folders[1]
        # Plain data: what an object file hands to the unwinder.
        if (header == "unwind/image.h") to = "arch"
        place = file ":" part[2] ": \"" header "\""
        if (header ~ /\.\./ || header !~ /\//) { print place " is not a path from src/ or include/"; bad = 1 }
        else if (to == "framewalk") next
        else if (!(to in rank)) { print place " belongs to no layer"; bad = 1 }
        else if (!(from in rank)) { print file " belongs to no layer"; bad = 1 }
        else if (rank[to] > rank[from]) { print place ": " from " must not know " to; bad = 1 }
    }
    END { exit bad }'
echo "layers are kept"
