#!/bin/sh
# install_test.sh CMAKE BUILD ROOT CC GENERATOR: installs BUILD into a new prefix, moves the prefix, then builds and
# runs the programs that README.md shows, four ways each: pkg-config and find_package, shared and static; the example
# of libframewalk-symbols, a program that uses both libraries, and one that sends reports. At the end the installed
# collector is started, gets a report and a dSYM, and must show their group, its page, and no more than it should.
set -eu
cmake=$1 build=$2 root=$3 cc=$4 generator=$5
work=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; wait "$server" || :; fi; rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"
prefix=$work/prefix

source=$work/source
mkdir "$source"
cp "$root/tests/install/CMakeLists.txt" "$root/tests/install/both.c" "$root/tests/install/upload.c" "$root/examples/symbolicate.c" "$source"
# shown N: the N-th program of README.md.
shown() {
    awk -v wanted="$1" '/^```c$/ { on = ++n == wanted; next } /^```$/ { on = 0 } on' "$root/README.md"
}
shown 1 >"$source/consumer.c"
shown 2 >"$source/where.c"

# run COMMAND...: the program must print the name of its own function.
run() {
    "$@" >"$work/output"
    cat "$work/output"
    grep -q '^main' "$work/output"
}

# names PROGRAM COMMAND...: with the address of the program's main, the command must print its place.
names() {
    program=$1
    shift
    address=$(nm "$program" | awk '$3 == "main" { print $1 }')
    "$@" "$program" "$address" >"$work/output"
    cat "$work/output"
    grep -q 'main at .*\.c:[1-9]' "$work/output"
}

# stack COMMAND...: the program must print both functions of its own stack, with their lines.
stack() {
    "$@" >"$work/output"
    cat "$work/output"
    grep -q '^take_stack .*both.c:[1-9]' "$work/output"
    grep -q '^main .*both.c:[1-9]' "$work/output"
    grep -q '^3 no error$' "$work/output"
}

# sends COMMAND...: the program must find nothing to send.
sends() {
    mkdir -p "$work/reports"
    "$@" "$work/reports" >"$work/output" || true
    cat "$work/output"
    grep -q '^0 requests$' "$work/output"
}

pc=$(find "$prefix" -name framewalk.pc)
libdir=$(dirname "$(dirname "$pc")")
PKG_CONFIG_PATH=$(dirname "$pc")
XDG_CACHE_HOME=$work/cache
export PKG_CONFIG_PATH XDG_CACHE_HOME

echo "pkg-config, shared"
# shellcheck disable=SC2046 # flags are several words
"$cc" -o "$work/shared" "$source/consumer.c" $(pkg-config --cflags --libs framewalk)
run env LD_LIBRARY_PATH="$libdir" "$work/shared"

echo "pkg-config, static"
# shellcheck disable=SC2046
"$cc" -static -o "$work/static" "$source/consumer.c" $(pkg-config --static --cflags --libs framewalk)
run "$work/static"

if pkg-config --exists framewalk-symbols; then
    echo "pkg-config, symbols, shared"
    for program in symbolicate where; do
        # shellcheck disable=SC2046
        "$cc" -g -o "$work/$program" "$source/$program.c" $(pkg-config --cflags --libs framewalk-symbols)
        names "$work/$program" env LD_LIBRARY_PATH="$libdir" "$work/$program"
    done

    echo "pkg-config, symbols, static"
    # The static program would find libcurl only where it was built: the linker warns of that.
    # shellcheck disable=SC2046
    "$cc" -g -static -Wl,--no-warnings -o "$work/static" "$source/symbolicate.c" \
        $(pkg-config --static --cflags --libs framewalk-symbols)
    names "$work/static" "$work/static"

    echo "pkg-config, both libraries"
    # shellcheck disable=SC2046
    "$cc" -g -D_GNU_SOURCE -o "$work/both" "$source/both.c" $(pkg-config --cflags --libs framewalk framewalk-symbols)
    stack env LD_LIBRARY_PATH="$libdir" "$work/both"
    # shellcheck disable=SC2046
    "$cc" -g -D_GNU_SOURCE -static -Wl,--no-warnings -o "$work/both" "$source/both.c" \
        $(pkg-config --static --cflags --libs framewalk-symbols framewalk)
    stack "$work/both"
fi

if pkg-config --exists framewalk-upload; then
    echo "pkg-config, upload, shared"
    # shellcheck disable=SC2046
    "$cc" -o "$work/upload" "$source/upload.c" $(pkg-config --cflags --libs framewalk-upload)
    sends env LD_LIBRARY_PATH="$libdir" "$work/upload"

    echo "pkg-config, upload, static; libcurl shared, as few systems have all that it needs as archives"
    # shellcheck disable=SC2046
    "$cc" -o "$work/upload" "$source/upload.c" $(pkg-config --cflags framewalk-upload) \
        "$libdir/libframewalk-upload.a" $(pkg-config --libs libcurl zlib) -pthread
    sends "$work/upload"
fi

echo "find_package"
"$cmake" -S "$source" -B "$work/build" -G "$generator" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >/dev/null
"$cmake" --build "$work/build" >/dev/null
run "$work/build/consumer_shared"
run "$work/build/consumer_static"
if [ -x "$work/build/symbolicate_shared" ]; then
    for program in symbolicate_shared symbolicate_static; do
        names "$work/build/$program" "$work/build/$program"
    done
    for program in both_shared_framewalk both_static_framewalk both_shared_symbols both_static_symbols; do
        stack "$work/build/$program"
    done
fi
if [ -x "$work/build/upload_shared" ]; then
    for program in upload_shared upload_static upload_and_framewalk; do
        sends "$work/build/$program"
    done
fi

if [ -x "$prefix/bin/framewalk" ]; then
    "$prefix/bin/framewalk" --version
    if [ -n "$(find "$prefix" -name libframewalk-agent.so)" ]; then # sanitizers cannot be preloaded
        "$prefix/bin/framewalk" run -- "$cc" --version 2>&1 | grep 'ended with status 0'
    fi
fi

if [ -n "$(find "$prefix" -name framewalk-collector)" ]; then
    echo "the collector"
    [ ! -e "$prefix/bin/framewalk-collector" ] # belongs to the command, beside the agent
    tool=$prefix/bin/framewalk notes=$root/examples/apple/notes
    (umask 077 && "$tool" serve --new-token --data "$work/data" >"$work/token")
    "$tool" serve --data "$work/data" --listen 127.0.0.1:0 --disk-reserve 1M >"$work/serve" 2>&1 &
    server=$!
    tries=0
    until grep -q '^Ready' "$work/serve"; do
        tries=$((tries + 1))
        if [ "$tries" -gt 100 ] || ! kill -0 "$server"; then
            cat "$work/serve"
            exit 1
        fi
        sleep 0.1
    done
    url=$(sed -n 's|^Listening on \(.*\)/$|\1|p' "$work/serve")
    "$tool" push --wait "$notes/hang.json" "$notes/notes.dSYM" --to "$url" --key-file "$work/token"
    "$tool" groups --wait 60 --to "$url" --key-file "$work/token" >"$work/output"
    cat "$work/output"
    grep -q '2.00 s  *1  read_page  notes.c:[1-9]' "$work/output"
    if grep -q '^FW_PAGE:BOOL=ON' "$build/CMakeCache.txt"; then
        python3 -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' \
            "$url/" | grep -q '<title>Framewalk'
    fi
    kill "$server"
    wait "$server"
    server=
fi
# What the command's help lists has a page and completions.
for command in $("$prefix/bin/framewalk" help | awk '/^  [a-z]/ { print $1 }'); do
    [ "$command" = help ] || find "$prefix" -name "framewalk-$command.1" | grep -q .
    for file in share/bash-completion/completions/framewalk share/zsh/site-functions/_framewalk \
        share/fish/vendor_completions.d/framewalk.fish; do
        grep -q "\b$command\b" "$prefix/$file"
    done
done
