# fish completion for framewalk

# Process 2 and its children are the kernel's own threads.
function __framewalk_processes
    ps -u (id -u) -o pid=,ppid=,comm= 2>/dev/null | awk '$1 != 2 && $2 != 2 { print $1 "\t" $3 }'
end

complete -c framewalk -n __fish_use_subcommand -f -a dump -d 'Stacks of all threads of a process or a core file'
complete -c framewalk -n __fish_use_subcommand -f -a inspect -d 'What is in a file'
complete -c framewalk -n __fish_use_subcommand -f -a help -d 'What a command takes'
complete -c framewalk -n __fish_use_subcommand -l version -d 'Print the version'
complete -c framewalk -n '__fish_seen_subcommand_from help' -f -a 'dump inspect help'

set -l dump '__fish_seen_subcommand_from dump'
complete -c framewalk -n $dump -k -a '(__framewalk_processes)'
complete -c framewalk -n $dump -l thread -x -d 'This thread only'
complete -c framewalk -n $dump -l depth -x -d 'At most this many frames of each stack'
complete -c framewalk -n $dump -l full -d 'All frames, however deep'
complete -c framewalk -n $dump -l consistent -d 'Stop all threads first'
complete -c framewalk -n $dump -l seconds -x -d 'Sample this long'
complete -c framewalk -n $dump -l hz -x -d 'Samples a second'
complete -c framewalk -n $dump -l exe -r -F -d 'The program that a core file is of'
complete -c framewalk -n $dump -l sysroot -x -a '(__fish_complete_directories)' -d 'Where the files of a core file are'
complete -c framewalk -n $dump -l format -x -a 'text json collapsed' -d 'How to write'
complete -c framewalk -n $dump -l json -d 'Write JSON'
complete -c framewalk -n $dump -l collapsed -d 'Write collapsed stacks'
complete -c framewalk -n $dump -s o -l output -r -F -d 'Write to this file'
complete -c framewalk -n $dump -l no-fold -d 'Show each thread for itself'
complete -c framewalk -n $dump -s q -l no-names -d 'No function names'
complete -c framewalk -n $dump -l no-lines -d 'Read no debug information'
complete -c framewalk -n $dump -l no-demangle -d 'Names as the symbol table has them'
complete -c framewalk -n $dump -s v -l verbose -d 'Addresses, methods, pauses, build ids'
complete -c framewalk -n $dump -l color -x -a 'auto always never' -d 'Colours'
complete -c framewalk -n $dump -s h -l help -d 'List the options'
