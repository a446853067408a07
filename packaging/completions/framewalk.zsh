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
        '(-p --pid)'{-p+,--pid=}'[this process]:process id:' \
        '(-t --tid --thread)'{-t+,--tid=}'[this thread only]:thread id:' \
        '(-t --tid --thread)--thread=[this thread only]:thread id:' \
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

_framewalk_symbolicate() {
    _arguments -s -S \
        '*--debug=[dSYM, debug file, symbol map or folder of them]:path:_files' \
        '--sysroot=[before the paths of a report]:directory:_files -/' \
        '--no-separate[only the file itself]' \
        '--no-debuginfod[do not ask servers]' \
        '(--no-cache)--cache=[where symbol maps are kept]:directory:_files -/' \
        '(--cache)--no-cache[keep no symbol maps]' \
        '--threads=[for conversions]:threads:' \
        '--offset[addresses count from the base]' \
        '--file-offset[addresses are offsets in the file]' \
        '--return[addresses are return addresses]' \
        '(-j --section)'{-j+,--section=}'[addresses are offsets in this section]:section:' \
        '--arch=[slice of a fat file]:architecture:(arm64 arm64e x86_64)' \
        '--to=[what to write]:form:(json text crash collapsed speedscope pprof firefox)' \
        '(--to)--json[write JSON]' \
        '(--to)--collapsed[write collapsed stacks]' \
        '--no-inlines[only functions that are really there]' \
        '--no-demangle[names as the symbol table has them]' \
        '--simplified[short names]' \
        '--columns[lines with columns]' \
        '--full-path[files with their folders]' \
        '(-s --basenames)'{-s,--basenames}'[files without their folders]' \
        '--output=[write to this file]:file:_files' \
        '--color=[colours]:when:(auto always never)' \
        '(-v --verbose)'{-v,--verbose}'[files used and places looked at]' \
        '(-h --help)'{-h,--help}'[list the options]' \
        '1:report or image:_files' \
        '*:address:'
}

_framewalk_convert() {
    _arguments -s -S \
        '(-o --output)'{-o+,--output=}'[map or folder to write]:path:_files' \
        '--arch=[only this slice]:architecture:(arm64 arm64e x86_64)' \
        '*--debug=[dSYM, debug file or folder of them]:path:_files' \
        '--sysroot=[before the system'"'"'s own places]:directory:_files -/' \
        '--no-debuginfod[do not ask servers]' \
        '--no-separate[only the file itself]' \
        '--columns[keep columns]' \
        '--no-calls[no call sites]' \
        '--to=[what to write]:form:(symmap gsym breakpad)' \
        '--verify[compare the map with the debug file]' \
        '(-j --threads)'{-j+,--threads=}'[threads to read with]:threads:' \
        '--json[summary as JSON]' \
        '(-q --quiet)'{-q,--quiet}'[no summary]' \
        '(-h --help)'{-h,--help}'[list the options]' \
        '*:debug file:_files'
}

_framewalk_inspect() {
    _arguments -s -S \
        '--json[one line of JSON for each file]' \
        '--color=[colours]:when:(auto always never)' \
        '(-h --help)'{-h,--help}'[list the options]' \
        '--functions[list the functions]' \
        '--files[list the source files]' \
        '--address=[what is known there]:address:' \
        '*:file:_files'
}

_framewalk_demangle() {
    _arguments -s -S \
        '(-p --no-params)'{-p,--no-params}'[no parameters and return types]' \
        '--simplified[short names]' \
        '--hashes[Rust: with the hashes]' \
        '(-t --types)'{-t,--types}'[C++: types alone too]' \
        '(-s --format)'{-s+,--format=}'[names of this language]:format:(auto gnu-v3 rust swift none)' \
        '(-_ --strip-underscore)'{-_,--strip-underscore}'[take one underscore off each name]' \
        '(-n --no-strip-underscore)'{-n,--no-strip-underscore}'[take none off]' \
        '(-h --help)'{-h,--help}'[list the options]' \
        '*:name:'
}

_framewalk_run() {
    _arguments \
        '--hang=[milliseconds that make a hang]:milliseconds:' \
        '--severe=[milliseconds that make a severe one]:milliseconds:' \
        '--idle=[which waits are idle]:which:(loop any)' \
        '--startup[the time before the first wait counts]' \
        '--starved[turns without a processor count]' \
        '--calls=[functions to count calls of]:names:(@files @network @processes @privacy)' \
        '--app-only[only calls by the program itself]' \
        '--follow[watch children, too]' \
        '--no-script-names[do not ask Python and Node for names]' \
        '--app-version=[the version of the program]:version' \
        '--app-build=[its build]:build' \
        '--out=[keep reports here]:folder:_directories' \
        '--keep[keep the temporary folder]' \
        '--to=[the collector]:url:' \
        '--key-file=[file with the key]:file:_files' \
        '(-o --output)'{-o,--output=}'[write the summary to this file]:file:_files' \
        '--json[the summary as JSON]' \
        '(-q --quiet)'{-q,--quiet}'[no summary]' \
        '(-v --verbose)'{-v,--verbose}'[whole stacks, all callers]' \
        '*--debug=[debug file or folder of them]:path:_files' \
        '--no-debuginfod[do not ask servers]' \
        '--color=[colours]:when:(auto always never)' \
        '(-h --help)'{-h,--help}'[list the options]' \
        '(-):program: _command_names -e' \
        '*::arguments: _normal'
}

_framewalk_push() {
    _arguments -s -S \
        '--to=[the collector]:URL:' \
        '--key-file=[file with the key]:file:_files' \
        '--ca-file=[certificates to trust]:file:_files' \
        '--plain-http[allow http\:// to other machines]' \
        '--check-calls=[send nothing\: new calls of a version]:version' \
        '--compare-with=[the version to compare with]:version' \
        '--project=[for a token of several projects\: which]:project' \
        '--keep[remove nothing from folders]' \
        '--include-stripped[also programs without names]' \
        '--sources[also the source files on this machine]' \
        '*--source-map=[where a folder of sources lies now]:OLD=NEW' \
        '--system-sources[also those of the system]' \
        '--wait[until debug files are converted]' \
        '--wait-limit=[the same, so long without news]:seconds:' \
        '--json[print the result as JSON]' \
        '(-n --dry-run)'{-n,--dry-run}'[list what would be sent]' \
        '(-v --verbose)'{-v,--verbose}'[say what became of each report and file]' \
        '(-q --quiet)'{-q,--quiet}'[errors only]' \
        '(-h --help)'{-h,--help}'[list the options]' \
        '*:report, debug file or folder:_files'
}

_framewalk_groups() {
    _arguments -s -S \
        '--to=[the collector]:URL:' \
        '--key-file=[file with a token]:file:_files' \
        '--calls[also who calls watched functions]' \
        '--wait=[until what was sent is processed]:seconds:' \
        '--project=[whose groups]:project:' \
        '--version=[of this version alone]:version:' \
        '--days=[that far back]:N:' \
        '--limit=[at most that many lines]:N:' \
        '--full-path[whole paths of sources]' \
        '--json[the answers as JSON]' \
        '--ca-file=[certificates to trust]:file:_files' \
        '--plain-http[allow http\:// to other machines]' \
        '--color=[colours]:when:(auto always never)' \
        '(-h --help)'{-h,--help}'[list the options]'
}

_framewalk_serve() {
    _arguments -s -S \
        '--data=[what it keeps]:folder:_files -/' \
        '--listen=[where it listens]:HOST\:PORT:' \
        '--base-url=[the address that browsers use]:URL:' \
        '--tls-cert=[PEM certificate]:file:_files' \
        '--tls-key=[PEM key of the certificate]:file:_files' \
        '*--trusted-proxy=[a proxy whose X-Forwarded-For is believed]:address:' \
        '--connections-per-address=[connections of one address at once]:number:' \
        '--backup[all of the data folder into one file]:file:_files' \
        '--restore[make the data folder of such a file]:file:_files' \
        '--check[look whether all that is stored is whole]' \
        '--new-token[print a new administrator'\''s token]' \
        '--database=[SQLite or PostgreSQL]:URL:' \
        '--store=[a folder or an S3 bucket]:URL:' \
        '--workers=[that process reports and jobs]:N:' \
        '--requests-per-minute=[of one key or address]:N:' \
        '--disk-reserve=[free space to leave]:size:' \
        '--upload-limit=[of one debug file or archive]:size:' \
        '--unpacked-limit=[of all that one archive holds]:size:' \
        '--convert-memory=[of the process that reads a debug file]:size:' \
        '--convert-seconds=[of processor time, the same]:N:' \
        '--convert-output=[of what it writes]:size:' \
        '--open-symbols[debug files and names need no token]' \
        '(-h --help)'{-h,--help}'[list the options]'
}

_framewalk() {
    local -a commands
    commands=('dump:stacks of all threads of a process or a core file'
        'symbolicate:names for addresses and crash reports'
        'convert:a debug file to a symbol map' 'inspect:what is in a file'
        'demangle:mangled names to readable ones' 'push:reports and debug files to a collector' 'run:a program under watch'
        'groups:what hangs most, and who calls what' 'serve:the collector' 'help:what a command takes')
    if (( CURRENT == 2 )); then
        _describe -t commands 'command' commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
        dump) _framewalk_dump ;;
        symbolicate) _framewalk_symbolicate ;;
        convert) _framewalk_convert ;;
        inspect) _framewalk_inspect ;;
        demangle) _framewalk_demangle ;;
        push) _framewalk_push ;;
        run) _framewalk_run ;;
        groups) _framewalk_groups ;;
        serve) _framewalk_serve ;;
        help) _describe -t commands 'command' commands ;;
    esac
}

_framewalk "$@"
