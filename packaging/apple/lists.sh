#!/bin/sh
# lists.sh ROOT COMPILE_COMMANDS [OUT]: writes the lists of Package.swift and Framewalk.podspec: the sources that
# CMake builds for Apple, read from the compile_commands.json of a build tree configured for it, and for SwiftPM,
# which wants each file of a target's folder explained, what is left out. Sources of src/watch/upload* are the target
# FramewalkUpload's, whose folder is src/watch. With OUT the two files go there instead.
#
#   cmake -S . -B /tmp/apple --toolchain cmake/toolchains/apple-arm64.cmake -DFW_TESTS=OFF -DFW_EXAMPLES=OFF
#   sh packaging/apple/lists.sh . /tmp/apple/compile_commands.json
set -eu
root=$(cd "$1" && pwd) commands=$2 out=${3:-$1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"

sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$commands" | sed -n "s,^$root/src/,src/,p" | LC_ALL=C sort -u >"$work/sources"
[ -s "$work/sources" ] || { echo "no source of $root/src in $commands" >&2; exit 1; }
grep '^src/watch/upload' "$work/sources" >"$work/upload"
grep -v '^src/watch/upload' "$work/sources" >"$work/core"
sed 's,^src/watch/,,' "$work/upload" >"$work/upload-in-folder"

# A folder that holds nothing of the package is left out as a whole, else file by file. Headers explain themselves.
# Folders that a checkout does not have (build trees) cannot be named.
git ls-files --cached --others --exclude-standard | LC_ALL=C sort >"$work/files"

# left_out: of the lines `wanted PATH` and `file PATH`, the paths to be named.
left_out() {
    awk '
    # The first folder of the path that holds nothing of the package, or the path itself.
    function not_ours(path,   part, n, i, folder) {
        n = split(path, part, "/")
        folder = part[1]
        for (i = 1; i < n && folder in holds; ) folder = folder "/" part[++i]
        return folder
    }
    function remember(path,   part, n, i, folder) {
        n = split(path, part, "/")
        folder = part[1]
        for (i = 1; i < n; ) {
            holds[folder] = 1
            folder = folder "/" part[++i]
        }
    }
    { path = substr($0, index($0, " ") + 1) }
    $1 == "wanted" { wanted[path] = 1; remember(path); next }
    path in wanted || path ~ /^(\.|include\/)/ { next }
    {
        out = not_ours(path)
        if ((out != path || path !~ /\.h$/) && !told[out]++) print out
    }' | LC_ALL=C sort
}
{
    sed 's/^/wanted /' "$work/core"
    echo "wanted packaging/apple/PrivacyInfo.xcprivacy"
    echo "wanted Package.swift"
    sed 's/^/file /' "$work/files"
} | left_out >"$work/left-out"
{
    sed 's/^/wanted /' "$work/upload-in-folder"
    echo "wanted apple/module.modulemap"
    sed -n 's,^src/watch/,file ,p' "$work/files"
} | left_out >"$work/upload-left-out"

# fill FILE MARK LIST BEFORE AFTER: the lines between the marks become the list.
fill() {
    awk -v mark="$2" -v list="$3" -v before="$4" -v after="$5" '
        $0 ~ "(//|#) end: " mark "$" { off = 0 }
        !off { print }
        $0 ~ "(//|#) begin: " mark "$" {
            off = 1
            match($0, /^ */)
            indent = substr($0, 1, RLENGTH)
            while ((getline line <list) > 0) print indent before line after
        }' "$1"
}
fill Package.swift sources "$work/core" '"' '",' >"$work/one"
fill "$work/one" "left out" "$work/left-out" '"' '",' >"$work/two"
fill "$work/two" "upload sources" "$work/upload-in-folder" '"' '",' >"$work/three"
fill "$work/three" "upload left out" "$work/upload-left-out" '"' '",' >"$work/Package.swift"
fill Framewalk.podspec sources "$work/core" "'" "'," >"$work/four"
fill "$work/four" "upload sources" "$work/upload" "'" "'," >"$work/Framewalk.podspec"
for file in Package.swift Framewalk.podspec; do
    cat "$work/$file" >"$out/$file"
done
