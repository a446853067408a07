#compdef framewalk
# zsh completion for framewalk

_framewalk_target() {
    local -a processes
    # Process 2 and its children are the kernel's own threads.
    processes=(${(f)"$(ps -u $UID -o pid=,ppid=,comm= 2>/dev/null |
        awk '$1 != 2 && $2 != 2 { print $1 ":" $3 }')"})
    _describe -t processes 'process' processes
    _files
}

_framewalk_dump() {
    _arguments -s -S \
        '--thread=[this thread only]:thread id:' \
        '(--full)--depth=[at most this many frames]:frames:' \
        '(--depth)--full[all frames, however deep]' \
        '--consistent[stop all threads first]' \
        '--seconds=[sample this long]:seconds:' \
        '--hz=[samples a second]:samples a second:' \
        '--exe=[the program that a core file is of]:file:_files' \
        '--sysroot=[where the files of a core file are]:directory:_files -/' \
        '(--json --collapsed)--format=[how to write]:format:(text json collapsed)' \
        '(--format --collapsed)--json[write JSON]' \
        '(--format --json)--collapsed[write collapsed stacks]' \
        '(-o --output)'{-o+,--output=}'[write to this file]:file:_files' \
        '--no-fold[show each thread for itself]' \
        '(-q --no-names)'{-q,--no-names}'[no function names]' \
        '--no-lines[read no debug information]' \
        '--no-demangle[names as the symbol table has them]' \
        '(-v --verbose)'{-v,--verbose}'[addresses, methods, pauses, build ids]' \
        '--color=[colours]:when:(auto always never)' \
        '(-h --help)'{-h,--help}'[list the options]' \
        '1:process or core file:_framewalk_target'
}

_framewalk() {
    local -a commands
    commands=('dump:stacks of all threads of a process or a core file' 'inspect:what is in a file' 'help:what a command takes')
    if (( CURRENT == 2 )); then
        _describe -t commands 'command' commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
        dump) _framewalk_dump ;;
        inspect) _files ;;
        help) _describe -t commands 'command' commands ;;
    esac
}

_framewalk "$@"
