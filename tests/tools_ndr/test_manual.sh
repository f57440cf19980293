#!/bin/sh
# test_manual.sh - each command's help, man page and completions have the same options, and all are installed.
. "$(dirname "$0")/common.sh"
man=$root/docs/man completions=$root/tools/ndr/completions
rm -rf prefix
: >err

# The options of a help text: "-d", "--device"; without those that argp adds.
options_of_help() {
    grep -E '^ {2,6}-' "$1" | sed -E 's/^ +//; s/  +.*//' | grep -oE '(^| )--?[A-Za-z?][a-z0-9-]*' | tr -d ' ' |
        grep -vxE -e '--(help|usage|version)|-[?V]' | sort -u || true
}

# The options of a page: items of lists that begin with Fl.
options_of_page() {
    grep -E '^\.It Fl ' "$1" | grep -oE 'Fl [^ ]+' | sed 's/^Fl /-/' | grep -vxE -e '--(help|usage|version)|-(V|\\&\?)' | sort -u || true
}

# complete_bash WORD...: what bash offers for the last word, a line each.
complete_bash() {
    # shellcheck disable=SC2016 # for the inner shell
    bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _ndr; printf "%s\n" "${COMPREPLY[@]}"' \
        "$completions/ndr.bash" "$@" | sed 's/=$//' | sed '/^$/d' | sort -u
}

# The same of zsh, without its completion system: what its functions would be given.
complete_zsh() {
    # shellcheck disable=SC2016
    zsh -fc 'file=$1; shift; words=("$@"); CURRENT=$#
        _describe() { local name=${@[-1]}; print -l -- ${(P)name%%:*}; }
        _files() { print FILES; }
        compset() { :; }
        . $file' zsh "$completions/_ndr" "$@" | sort -u
}

same() { # same WHAT FILE FILE
    cmp -s "$2" "$3" || complain "$1: < only in the first, > only in the second: $(diff "$2" "$3" | grep '^[<>]' | tr '\n' ' ')"
}

shown="the help"
"$ndr" --help >out
sed -nE 's/^  ([a-z]+) .*/\1/p' out | sort >commands
[ -s commands ] || complain 'it lists no commands'

find "$man" -name 'ndr-*.1' | sed 's|.*/ndr-\(.*\)\.1$|\1|' | sort >pages
same 'help and the pages of docs/man' commands pages
sed -nE 's/^\.It Cm ([a-z]+)$/\1/p' "$man/ndr.1" | sort >listed
same 'help and the list of ndr.1' commands listed
has_zsh=
if command -v zsh >/dev/null; then has_zsh=yes; else leave_out 'completion in zsh: it is not installed'; fi
command -v mandoc >/dev/null || leave_out 'the syntax of the pages: mandoc is not installed'

while read -r command; do
    page=$man/ndr-$command.1
    run 0 "$ndr" "$command" --help
    options_of_help out >help
    grep -qx -e --json help || complain 'it has no --json'
    options_of_page "$page" >page
    same "help and $page" help page
    grep -q '^\.Sh EXIT STATUS' "$page" || complain "$page lacks EXIT STATUS"
    grep -q "^\.Xr ndr-$command 1" "$man/ndr.1" || complain "ndr.1 lacks .Xr ndr-$command 1"
    grep -e '^--' help >long
    { complete_bash "$ndr" "$command" -- | grep -vxE -e '--(help|usage|version)'; } >offered
    same "help and bash's completion of \"ndr $command --\"" long offered
    if [ "$has_zsh" ]; then
        { complete_zsh "$ndr" "$command" -- | grep -vxE -e '--(help|usage|version)'; } >offered
        same "help and zsh's completion of \"ndr $command --\"" long offered
    fi
    # the actions of `ndr cache`
    sed -nE "s/^.*: +ndr [a-z]+ \[OPTION\.\.\.\] ([a-z]+).*/\1/p" out | sort -u >actions
    complete_bash "$ndr" "$command" '' >offered
    same "help and bash's completion of \"ndr $command \"" actions offered
done <commands

shown=completion
complete_bash "$ndr" '' | grep -v '^-' >offered
same "help and bash's commands" commands offered
[ "$(complete_bash "$ndr" dev)" = devices ] || complain 'bash completes no "dev"'
[ "$(complete_bash "$ndr" devices --device = g)" = gpu ] || complain 'bash completes no "--device=g"'
[ "$(complete_bash "$ndr" devices -d a)" = accelerator ] || complain 'bash completes no "-d a"'
[ -z "$(complete_bash "$ndr" devices -- --j)" ] || complain 'bash completes options behind --'
[ "$(complete_bash "$ndr" cache v)" = verify ] || complain 'bash completes no "cache v"'
if [ "$has_zsh" ]; then
    complete_zsh "$ndr" '' | grep -v '^-' >offered
    same "help and zsh's commands" commands offered
    [ "$(complete_zsh "$ndr" devices -d '' | head -1)" = accelerator ] || complain 'zsh completes no "-d "'
    [ "$(complete_zsh "$ndr" cache '' | tr '\n' ' ')" = 'clear ls verify warm ' ] || complain 'zsh completes no "cache "'
    [ "$(complete_zsh "$ndr" cache warm '')" = FILES ] || complain 'zsh completes no files'
    [ "$(complete_zsh "$ndr" devices -- '')" = FILES ] || complain 'zsh completes options behind --'
fi
! command -v shellcheck >/dev/null || shellcheck -s bash "$completions/ndr.bash" || complain 'shellcheck'

for page in "$man"/*.1; do
    ! command -v mandoc >/dev/null || run 0 mandoc -T lint -W warning "$page"
done

# ---- installed ----

run 0 cmake -D CMAKE_INSTALL_PREFIX="$PWD/prefix" -P "$(dirname "$ndr")/cmake_install.cmake"
shown="what is installed"
find prefix -type f | sed 's|^prefix/||' | sort >out
for page in "$man"/*.1; do says out "share/man/man1/$(basename "$page")"; done
says out share/bash-completion/completions/ndr
says out share/zsh/site-functions/_ndr
says out bin/ndr
finish
