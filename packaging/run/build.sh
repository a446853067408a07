# Configuring and building a preset. Sourced by ./run.
# shellcheck shell=sh

jobs=$(nproc 2>/dev/null || echo 2)

# build PRESET [CMAKE ARGUMENT...]: quiet when all is well, the whole log when not.
build() {
    preset=$1
    shift
    say "${step:+$step }Building $preset"
    log=$log_folder/build-$preset.log
    : >"$log"
    # A warning is a defect, wherever it appears; but whoever has a newer compiler shall not be stopped by it.
    [ "${CI:-}" != true ] || set -- "$@" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
    progress_begin "$log" 's|^\[\([0-9]*/[0-9]*\)\] .*|\1 built|p'
    built=1
    { cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -j "$jobs"; } >"$log" 2>&1 || built=
    progress_end
    if [ -z "$built" ]; then
        cat "$log" >&2
        die "building $preset failed"
    fi
    if grep 'warning:' "$log" >&2 && [ "${CI:-}" = true ]; then
        die "building $preset gave warnings"
    fi
}
