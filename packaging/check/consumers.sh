#!/bin/sh
# consumers.sh TO_FILES [FOLDER]: the programs that our exports are for open them. By hand, not part of
# ./run test: it installs speedscope and the Firefox Profiler's command line with npm into FOLDER (a
# temporary one otherwise; about 5 MB), and asks a headless chromium where there is one.
# TO_FILES is build/test/tests/report_to_files. pprof is asked by the test report_consumers.
set -eu
to_files=$(realpath "$1")
if [ $# -gt 1 ]; then
    mkdir -p "$2"
    folder=$(realpath "$2")
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
for program in node npm; do
    command -v "$program" >/dev/null || { echo "skip: no $program here"; exit 77; }
done
mkdir -p "$folder/files"
"$to_files" "$folder/files"
cd "$folder"
npm install --no-audit --no-fund --loglevel=error speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0
failed=0

# expect FILE WHAT...: each of them is in FILE.
expect() {
    file=$1
    shift
    for what in "$@"; do
        grep -qF -- "$what" "$file" || { echo "failed: $file says nothing of: $what"; failed=1; }
    done
}

# The viewer's own code: it loads the profile into a session, and answers questions about it.
profiler() {
    timeout 60 node node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js "$@"
}
firefox() {
    if ! profiler load "files/$1.firefox.json" >"$1.load" 2>&1; then
        cat "$1.load"
        failed=1
        return
    fi
    profiler thread select t-0 >/dev/null
    { profiler profile info && profiler thread functions && profiler thread samples-top-down &&
        profiler thread markers; } >"$1.firefox" 2>&1 || failed=1
    profiler stop >/dev/null
}
firefox hang
expect hang.firefox "Full: 1.843s" "next_token - self: 1.611s (93.7%)" "libc.so.6!0x88123 - self: 90.250ms" \
    "next_token (inl)" "Hang" "interval: min=1.843s" "main (python)"
firefox calls
expect calls.firefox "getaddrinfo - self: 1246 (99.8%)" "resolve_host - self: 0 (0.0%), total: 1234"
firefox hostile

# speedscope has no interface but its page. Its title bar names the profile that was opened.
chromium=$(command -v chromium || command -v chromium-browser || true)
speedscope() {
    printf 'speedscope.loadFileFromBase64("%s.speedscope.json", "%s")' "$1" \
        "$(base64 -w 0 "files/$1.speedscope.json")" >"$1.js"
    timeout 120 "$chromium" --headless=new --no-sandbox --use-gl=angle --use-angle=swiftshader \
        --enable-unsafe-swiftshader --allow-file-access-from-files --user-data-dir="$folder/profile" \
        --window-size=1200,700 --virtual-time-budget=8000 --screenshot="$folder/$1.png" --dump-dom \
        "file://$folder/node_modules/speedscope/dist/release/index.html#localProfilePath=$folder/$1.js" \
        >"$1.speedscope" 2>"$1.log" || { tail -3 "$1.log"; failed=1; }
}
if [ -n "$chromium" ]; then
    speedscope hang
    expect hang.speedscope "<span>main (4711) "
    speedscope calls
    expect calls.speedscope "</div>calls<"
    speedscope hostile
else
    echo "skip: no chromium here, so speedscope was not asked"
fi
[ "$failed" = 0 ] && echo "the exports open"
exit "$failed"
