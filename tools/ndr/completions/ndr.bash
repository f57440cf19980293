# ndr.bash - completion of the command ndr in bash. Commands, their actions and options are those that `ndr --help` and
# `ndr COMMAND --help` print, so that they are never out of date.

_ndr()
{
    local ndr=${COMP_WORDS[0]/#\~/$HOME} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=

    # bash makes a word of each "=".
    [[ $before == "=" ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
    [[ $word == "=" ]] && word=

    if ((COMP_CWORD == 1)); then
        words="$("$ndr" --help 2>/dev/null | sed -nE 's/^  ([a-z]+) .*/\1/p') --help --version"
    elif [[ " ${COMP_WORDS[*]:2:COMP_CWORD-2} " == *" -- "* ]]; then
        : # the arguments of another program
    elif [[ $before == -d || $before == --device ]]; then
        words="gpu cpu accelerator"
    elif [[ $word == -* ]]; then
        words=$("$ndr" "${COMP_WORDS[1]}" --help 2>/dev/null | sed -nE 's/^ {2,6}(-., )?(--[a-z][a-z0-9-]*=?).*/\2/p')
    elif ((COMP_CWORD == 2)); then
        words=$("$ndr" "${COMP_WORDS[1]}" --help 2>/dev/null | sed -nE 's/^.*: +ndr [a-z]+ \[OPTION\.\.\.\] ([a-z]+).*/\1/p')
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}

# Where there are no words, file names.
complete -o bashdefault -o default -F _ndr ndr
