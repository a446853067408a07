# bash completion for framewalk
# shellcheck shell=bash

# Processes that may be dumped: ids, with the program's name for the eye when there are several.
# Process 2 and its children are the kernel's own threads.
_framewalk_pids() {
    local pid parent name
    while read -r pid parent name; do
        [[ $pid == "$1"* && $pid != 2 && $parent != 2 ]] && COMPREPLY+=("$pid ($name)")
    done < <(ps -u "$(id -u)" -o pid=,ppid=,comm= 2>/dev/null)
    # One left: the id alone is what belongs on the command line.
    if ((${#COMPREPLY[@]} == 1)); then
        COMPREPLY=("${COMPREPLY[0]%% *}")
    fi
}

_framewalk_dump() {
    local cur=$1 prev=$2
    case $prev in
    --format) mapfile -t COMPREPLY < <(compgen -W 'text json collapsed' -- "$cur") && return ;;
    --color) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur") && return ;;
    --pid | -p)
        _framewalk_pids "$cur"
        return
        ;;
    -t | --tid | --thread | --depth | --seconds | --hz) return ;;
    --sysroot) mapfile -t COMPREPLY < <(compgen -d -- "$cur") && return ;;
    --exe | --output | -o) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
    esac
    case $cur in
    -*)
        mapfile -t COMPREPLY < <(compgen -W '--pid --thread --tid --depth --full --consistent --seconds --hz --exe
            --sysroot --format --json --collapsed --output --no-fold --no-names
            --no-lines --no-demangle --verbose --color --help' -- "$cur")
        ;;
    '' | [0-9]*) _framewalk_pids "$cur" ;;
    *)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    esac
}

_framewalk_symbolicate() {
    local cur=$1 prev=$2
    case $prev in
    --to) mapfile -t COMPREPLY < <(compgen -W 'json text crash collapsed speedscope pprof firefox' -- "$cur") && return ;;
    --color) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur") && return ;;
    --arch | -arch | --threads | --section | -j | -l | -d) return ;;
    --sysroot | --cache) mapfile -t COMPREPLY < <(compgen -d -- "$cur") && return ;;
    esac
    case $cur in
    -*)
        mapfile -t COMPREPLY < <(compgen -W '--debug --sysroot --no-separate --no-debuginfod --cache
            --no-cache --threads --offset --file-offset --return --section --arch --to --json
            --collapsed --no-inlines --no-demangle --simplified --columns --full-path --basenames
            --output --color --verbose --help' -- "$cur")
        ;;
    *)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    esac
}

_framewalk_convert() {
    local cur=$1 prev=$2
    case $prev in
    --to) mapfile -t COMPREPLY < <(compgen -W 'symmap gsym breakpad' -- "$cur") && return ;;
    --arch | --threads | -j) return ;;
    --sysroot) mapfile -t COMPREPLY < <(compgen -d -- "$cur") && return ;;
    esac
    case $cur in
    -*)
        mapfile -t COMPREPLY < <(compgen -W '--output --arch --debug --sysroot --no-debuginfod
            --no-separate --columns --no-calls --to --verify --threads --json --quiet --help' -- "$cur")
        ;;
    *)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    esac
}

_framewalk_inspect() {
    local cur=$1 prev=$2
    case $prev in
    --color) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur") && return ;;
    --address) return ;;
    esac
    case $cur in
    -*)
        mapfile -t COMPREPLY < <(compgen -W '--json --color --help --functions --files
            --address' -- "$cur")
        ;;
    *)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    esac
}

_framewalk_push() {
    local cur=$1 prev=$2
    case $prev in
    --to) return ;;
    esac
    case $cur in
    -*)
        mapfile -t COMPREPLY < <(compgen -W '--to --key-file --ca-file --plain-http --keep --dry-run
            --include-stripped --wait --wait-limit --json --check-calls --compare-with --project
            --sources
            --source-map --system-sources --verbose --quiet --help' -- "$cur")
        ;;
    *)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    esac
}

_framewalk_groups() {
    local cur=$1 prev=$2
    case $prev in
    --color) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur") && return ;;
    --key-file | --ca-file) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
    --to | --project | --version | --days | --limit | --wait) return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W '--to --key-file --calls --wait --project --version --days --limit
        --full-path --json --ca-file --plain-http --color --help' -- "$cur")
}

_framewalk_serve() {
    local cur=$1 prev=$2
    case $prev in
    --data) mapfile -t COMPREPLY < <(compgen -d -- "$cur") && return ;;
    --tls-cert | --tls-key) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
    --listen | --base-url | --trusted-proxy | --database | --store | --workers | --requests-per-minute | --connections-per-address | --disk-reserve) return ;;
    --upload-limit | --unpacked-limit | --convert-memory | --convert-seconds | --convert-output) return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W '--data --listen --base-url --tls-cert --tls-key --trusted-proxy
        --new-token --backup --restore --check --database --store --workers --requests-per-minute --connections-per-address --disk-reserve --upload-limit
        --unpacked-limit --convert-memory --convert-seconds --convert-output --open-symbols
        --help' -- "$cur")
}

_framewalk_demangle() {
    local cur=$1 prev=$2
    case $prev in
    --format | -s) mapfile -t COMPREPLY < <(compgen -W 'auto gnu-v3 rust swift none' -- "$cur") && return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W '--no-params --simplified --hashes --types --format
        --strip-underscore --no-strip-underscore --help' -- "$cur")
}

_framewalk_run() {
    local cur=$1 prev=$2 i
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then # the program and its arguments
            compopt -o filenames 2>/dev/null
            if ((i + 1 == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
            return
        fi
    done
    case $prev in
    --calls) mapfile -t COMPREPLY < <(compgen -W '@files @network @processes @privacy' -- "$cur") && return ;;
    --idle) mapfile -t COMPREPLY < <(compgen -W 'loop any' -- "$cur") && return ;;
    --color) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur") && return ;;
    --hang | --severe | --to) return ;;
    --out) mapfile -t COMPREPLY < <(compgen -d -- "$cur") && return ;;
    --key-file | --debug | --output | -o) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
    esac
    case $cur in
    -*)
        mapfile -t COMPREPLY < <(compgen -W '--hang --severe --idle --startup --starved --calls
            --app-only --app-version --app-build
            --follow --no-script-names --out --keep --to --key-file --output --json --quiet
            --verbose --debug --no-debuginfod --color --help' -- "$cur")
        ;;
    *) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
    esac
}

_framewalk() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if [[ $cur == '=' ]]; then # --format=json comes as three words
        cur=
    elif [[ $prev == '=' ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W 'dump run symbolicate convert inspect demangle push groups serve help --help --version' -- "$cur")
        return
    fi
    case ${COMP_WORDS[1]} in
    dump) _framewalk_dump "$cur" "$prev" ;;
    symbolicate) _framewalk_symbolicate "$cur" "$prev" ;;
    convert) _framewalk_convert "$cur" "$prev" ;;
    inspect) _framewalk_inspect "$cur" "$prev" ;;
    demangle) _framewalk_demangle "$cur" "$prev" ;;
    run) _framewalk_run "$cur" "$prev" ;;
    push) _framewalk_push "$cur" "$prev" ;;
    groups) _framewalk_groups "$cur" "$prev" ;;
    serve) _framewalk_serve "$cur" "$prev" ;;
    help) mapfile -t COMPREPLY < <(compgen -W 'dump run symbolicate convert inspect demangle push groups serve help' -- "$cur") ;;
    esac
}

complete -F _framewalk framewalk
