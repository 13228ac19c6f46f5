# Completion of couplet in fish; `couplet help completion` says what it does.
function __couplet_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l plain (string unescape -- "$typed"; or string trim --left --chars '\'"' -- "$typed")
    set -l lines ($words[1] __complete fish -- $words[2..-1] "$plain" 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path "$typed"
    end
    if set -q lines[2]
        printf '%s\n' $lines[2..-1]
    end
end
complete -c couplet -f -a '(__couplet_complete)'
