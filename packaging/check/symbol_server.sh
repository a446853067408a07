#!/bin/sh
# symbol_server.sh BUILD [FOLDER]: the Firefox Profiler asks the collector for names, unmodified. By hand,
# not part of ./run test: it installs the profiler's command line with npm into FOLDER (a temporary one
# otherwise). BUILD is build/test. gdb, elfutils, llvm-symbolizer and lldb are asked by the test
# collector_symbol_paths.
set -eu
build=$(realpath "$1")
folder=${2:-}
[ -n "$folder" ] || {
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
}
mkdir -p "$folder"
for program in node npm curl c++ objcopy strip; do
    command -v "$program" >/dev/null || { echo "skip: no $program here"; exit 77; }
done
cd "$folder"
npm install --no-audit --no-fund --loglevel=error @firefox-devtools/profiler-cli@0.10.0

cat >sleeper.cc <<'END'
#include <unistd.h>
namespace shop {
__attribute__((noinline)) int wait_long(int a) { int left = (int)sleep(60); return left + a; }
static inline __attribute__((always_inline)) int half(int a) { return wait_long(a) + 1; }
__attribute__((noinline)) int load(int a) { return half(a) + 1; }
}
int main(int argc, char **) { return shop::load(argc); }
END
c++ -g -O1 -Wl,--build-id -o sleeper sleeper.cc
objcopy --only-keep-debug sleeper sleeper.debug
strip sleeper
./sleeper &
sleeper=$!
sleep 1
"$build/src/framewalk" dump --json "$sleeper" >sleeper.json
kill "$sleeper"
mv sleeper.debug away.debug # not where it would be found
"$build/src/framewalk" symbolicate --to firefox sleeper.json >sleeper.firefox.json 2>/dev/null || :

rm -rf data
"$build/src/framewalk-collector" --data data --listen 127.0.0.1:0 >said 2>&1 &
server=$!
trap 'kill "$server"; [ "$folder" = "${2:-}" ] || rm -rf "$folder"' EXIT
for _ in 1 2 3 4 5 6 7 8 9 10; do
    ! grep -q '^Ready' said || break
    sleep 0.5
done
base=$(sed -n 's/^Listening on \(.*\)\/$/\1/p' said)
token=$(sed -n 's/^First token.*: //p' said)
ask() {
    curl -sS -H "Authorization: Bearer $token" -H "Tus-Resumable: 1.0.0" "$@"
}
place=$(ask -D - -o /dev/null -X POST -H "Upload-Length: $(wc -c <away.debug)" "$base/api/v1/uploads" |
    tr -d '\r' | sed -n 's/^[Ll]ocation: //p')
ask -X PATCH -H "Content-Type: application/offset+octet-stream" -H "Upload-Offset: 0" \
    --data-binary @away.debug "$base$place"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    ! ask "$base$place" | grep -q '"state": *"done"' || break
    sleep 0.5
done
url=$base/s/$token
profiler() {
    timeout 60 node node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js "$@"
}
profiler load sleeper.firefox.json --symbol-server "$url" >loaded 2>&1
profiler thread select t-0 >/dev/null
profiler thread samples-top-down >tree 2>&1
profiler stop >/dev/null
for what in "shop::wait_long(int)" "shop::half (inl)" "shop::load(int)" "sleeper!main"; do
    grep -qF -- "$what" tree || { echo "failed: no $what"; cat tree said; exit 1; }
done
echo "the Firefox Profiler got its names"
