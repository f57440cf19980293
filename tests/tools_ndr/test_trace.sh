#!/bin/sh
# test_trace.sh - `ndr trace`: what it prints and writes of programs that end well or badly, and exit codes.
#
#     TRACED=<the program of traced.c, which launches the kernel "scale" 10 times> test_trace.sh <the command ndr>
set -u
ndr=$1 traced=${TRACED:?}
rm -rf work && mkdir work && cd work || exit 1

fail() {
    echo "test_trace: $*" >&2
    for file in out err; do echo "--- $file" >&2; cat $file >&2; done
    exit 1
}

# run CODE ARGUMENT... - `ndr trace` with these arguments must end with that code
run() {
    wanted=$1
    shift
    "$ndr" trace "$@" >out 2>err
    got=$?
    [ $got -eq "$wanted" ] || fail "ndr trace $*: exit code $got instead of $wanted"
}

has() { grep -q -e "$2" "$1" || fail "$1 lacks: $2"; }
lacks() { ! grep -q -e "$2" "$1" || fail "$1 has: $2"; }

# is_whole PREFIX - both files, with all commands, and nothing else is left
is_whole() {
    python3 - "$1" <<'END' || fail "$1.json or $1.html is wrong"
import json, sys
records = json.load(open(sys.argv[1] + ".json"))
ran = [r for r in records if r.get("cat") == "kernel" and r["name"] == "scale"]
page = open(sys.argv[1] + ".html", encoding="utf-8").read()
data = json.loads(page.split('type="application/json">')[1].split("</script>")[0])
row = next(r for r in data["table"]["commands"] if r["name"] == "scale")
assert len(ran) == 10 and row["count"] == 10, (len(ran), row)
assert row["total_ns"] == sum(round(1000 * r["dur"]) for r in ran), row
assert page.rstrip().endswith("</html>")
END
    for left in "$1".*; do
        case $left in "$1.json" | "$1.html") ;; *) fail "$left is left" ;; esac
    done
}

# ---- a program that ends well
run 0 -o well -- "$traced" well
is_whole well
has out "^the program's own output"
[ "$(wc -l <out)" -eq 1 ] || fail "stdout has more than the program's"
has err '^scale  *10 '
has err '^read  *1 '
has err '^operation or region  *count '
has err '^scaling  *1 .* [0-9.e+-]*  *[0-9.e+-]*$'
has err 'ndr trace: wrote well.html and well.json'
lacks err 'command.* no times'
lacks err 'The program'

# Options of the program, without --, and the default name
run 0 "$traced" well --output -o x
is_whole trace

# ---- programs that end otherwise
run 0 -o leave -- "$traced" leave
is_whole leave
has err '^scale  *10 '
has err 'libndr trace: the process ended before the traced contexts were destroyed; 0 commands are missing'

run 42 -o exited -- "$traced" exit
is_whole exited
has err 'The program ended with exit code 42.'

run 134 -o aborted -- "$traced" abort
has err 'The program was ended by signal 6 (Aborted).'
has err 'what it did after its last wait may be missing'
python3 -c 'import json; json.load(open("aborted.json"))' || fail "the file of a program that aborts is not completed"

run 137 -o killed -- "$traced" kill
has err 'The program was ended by signal 9'

# ---- a signal
mkfifo ready
"$ndr" trace -o signalled -- "$traced" wait ready >out 2>err &
tool=$!
read -r _ <ready
kill -TERM $tool
wait $tool
[ $? -eq 7 ] || fail "a signal to ndr trace does not reach the program"
has err 'The program ended with exit code 7.'
has err '^scale  *10 '

# ---- several processes
run 3 -o several -- sh -c "'$traced' well; '$traced' leave; exit 3"
set -- several.*.json
[ $# -eq 2 ] || fail "two processes leave $# timelines"
for timeline in "$@"; do is_whole "${timeline%.json}"; done
[ "$(grep -c '^process [0-9]*$' err)" -eq 2 ] || fail "the processes are not told apart"

# ---- JSON
run 0 --json -o json -- "$traced" well
has err "^the program's own output"
python3 - <<'END' || fail "the JSON is wrong"
import json
result = json.load(open("out"))
assert result["exit_code"] == 0 and len(result["processes"]) == 1, result
process = result["processes"][0]
assert process["page"] == "json.html" and process["timeline"] == "json.json", process
assert [r["count"] for r in process["table"]["commands"] if r["name"] == "scale"] == [10], process
region = process["table"]["regions"][0]
assert (region["name"], region["bytes"], region["flops"]) == ("scaling", 80000, 10000), region
assert process["table"]["timed"] == 11 and process["table"]["untimed"] == 0, process
END

# ---- a timeline that is there
run 0 -o own -- "$traced" well
run 0 --from own.json -o other
cmp own.html other.html >/dev/null && fail "the title is not that of the file"
has err 'ndr trace: wrote other.html$'
run 125 -- "$traced" own made.json
has err 'made no trace: it made no context of libndr, or it started a trace itself'
run 0 --from made.json
is_whole made
head -c 1700 made.json >torn.json
run 0 --from torn.json
has err 'what it did after its last wait may be missing'
[ "$(wc -c <torn.json)" -eq 1700 ] || fail "--from changes its file"
run 1 --from nowhere.json
has err 'the file "nowhere.json" cannot be read: No such file'
echo '{}' >wrong.json
run 1 --from wrong.json
has err 'the file "wrong.json" is no timeline of libndr'

# ---- what cannot be done
run 127 -- ./nowhere
has err '"./nowhere" cannot be started: No such file'
run 127 -- nowhere
has err '"nowhere" cannot be started: no folder of PATH has it; write ./nowhere if it is in this folder'
run 126 -- .
has err '"." cannot be started: Permission denied; name a file that this user may run'
run 125 -o nowhere/x -- "$traced" well
has err 'no folder can be made beside "nowhere/x": No such file or directory'
lacks out 'own output'
run 125 -o 'a%pb' -- "$traced" well
has err 'which NDR_TRACE replaces'
mkdir full.html
run 125 -o full -- "$traced" well
has err 'the page "full.html" cannot be written: Is a directory'
python3 -c 'import json; json.load(open("full.json"))' || fail "the timeline is lost if the page cannot be written"
mkdir -p away.json/x
run 125 -o away -- "$traced" well
has err 'the timeline cannot be moved from ".*/away\.[A-Za-z0-9]*/[0-9]*\.json" to "away.json": '
[ -s away.??????/*.json ] || fail "a timeline that cannot be moved is lost"
rm -r away.??????
run 125 -- true
has err '"true" made no trace: .*: trace a program that uses libndr'
run 1 -- false
run 2
has err 'there is no program; write: ndr trace -- PROGRAM'
run 2 --from own.json -- "$traced"
has err 'so give it no program'
run 2 --peak-gbps fast -- "$traced"
has err '--peak-gbps is "fast"; give a number, more than 0'
run 2 --max-bars 0 -- "$traced"
has err '--max-bars is "0"; give a number from 1 to 1e9'
run 2 -o '' -- "$traced"
has err '--output is ""'
run 1 -d 'no such device' -- "$traced" well
for left in *.??????; do [ ! -d "$left" ] || fail "the folder $left is left"; done
exit 0
