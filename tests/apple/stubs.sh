# Sourced by system_test.sh: stub libraries for a target. Apple's own names macOS alone; what its other systems export is
# taken to be the same, which the headers' availability bounds.
# shellcheck shell=sh

# tbd_target TRIPLE: what stub libraries call it, ARCH-PLATFORM.
tbd_target() {
    echo "$1" | sed -E 's/^([a-z0-9_]+)-apple-([a-z]+)[0-9.]*(-simulator)?(-macabi)?$/\1-\2\3\4/; s/-ios-macabi$/-maccatalyst/'
}

# stub_folder LIBSYSTEM STUBS TRIPLE OUT: libSystem.tbd, and those of STUBS (ours: names that the examples use), in OUT.
stub_folder() {
    mkdir -p "$4"
    name=$(tbd_target "$3")
    case $name in
    x86_64-*) slot=x86_64-macos ;;
    *) slot='arm64e[.]x1-macos' ;; # stands in each list where arm64 may be
    esac
    # An architecture that lld does not know goes, whatever is linked.
    sed -E "s/$slot([], ])/$name\1/g; s/arm64e[.]x1-/arm64e-/g" "$1" >"$4/libSystem.tbd"
    for stub in "$2"/*.tbd; do
        sed "s/TARGET/$name/" "$stub" >"$4/${stub##*/}"
    done
}
