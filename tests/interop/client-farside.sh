#!/usr/bin/env bash
# Our command line against a server that others wrote: client-farside.sh FARSIDE URL TOKEN SCRATCH_FOLDER.
set -euo pipefail
farside=$1 scratch=$4
export FARSIDE_URL=$2 FARSIDE_TOKEN=$3
is() { [ "$2" = "$3" ] || { printf '%s: got %s, want %s\n' "$1" "$2" "$3" >&2 && exit 1; }; }
# fails STATUS COMMAND...: it fails with that status.
fails() {
    local want=$1 status=0
    shift
    "$@" >/dev/null 2>&1 || status=$?
    is "$*" "$status" "$want"
}

head -c 5242880 /dev/urandom >"$scratch/up"
"$farside" -q put "$scratch/up" cli/up
"$farside" -q get cli/up "$scratch/down"
cmp "$scratch/up" "$scratch/down"
printf 'in a few pieces' | "$farside" -q put - cli/small
is "cat" "$("$farside" cat cli/small)" "in a few pieces"
is "ls" "$("$farside" ls cli | tr '\n' ' ')" "small up "
is "exec" "$("$farside" exec -- echo hi)" hi
is "exec with input" "$("$farside" exec --stdin -- cat <"$scratch/up" | cmp - "$scratch/up" && echo same)" same
is "output as it comes" "$("$farside" exec --dir cli -- sh -c 'echo first; while [ ! -e go ]; do sleep 0.02; done; echo second' | {
    IFS= read -r first
    "$farside" -q put - cli/go </dev/null
    echo "$first"
    cat
})" $'first\nsecond'
fails 7 "$farside" exec -- sh -c 'exit 7'
fails 143 "$farside" exec -- sh -c 'kill -TERM $$'
fails 124 "$farside" exec --timeout 200ms -- sleep 30
fails 127 "$farside" exec -- no-such-program
fails 125 "$farside" cat cli/none
"$farside" rm cli/small
fails 125 "$farside" stat cli/small
