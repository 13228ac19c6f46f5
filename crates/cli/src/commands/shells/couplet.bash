# Completion of couplet in bash; `couplet help completion` says what it does.
_couplet() {
    local line kind=
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ -z $kind ]]; then
            kind=$line
        else
            COMPREPLY+=("$line")
        fi
    done < <("$1" __complete bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
    if [[ $kind == files ]]; then
        compopt -o default 2>/dev/null
    fi
    # What has a value after it gets no space.
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=,:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o nosort -F _couplet couplet 2>/dev/null || complete -F _couplet couplet
