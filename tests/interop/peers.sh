#!/usr/bin/env bash
# Two peers of the wire that others wrote: their checker against our server, on both runtimes, with authentication and without, and our
# clients against their server. Takes the folder of the peers, and the server to run (target/debug/checked-server without another).
#
# Cases that are known to fail stand in not-yet.txt. A case that fails beside is tried once more by itself, since many look at times that
# a busy machine may miss.
set -euo pipefail
cd "$(dirname "$0")"
peers=$(realpath "$1")
server=$(realpath "${2:-../../target/debug/checked-server}")
. ./lib.sh

# check NAME URL CONFIG: one run of the checker, and one more of the cases that fail.
check() {
    local name=$1 began=$SECONDS failed
    run "$@"
    echo "peers: checker on $name: $(tail -n 1 "$work/$name.out"), $((SECONDS - began)) s"
    if ! failed=$(python3 -B judge.py "$work/$name.json" not-yet.txt); then
        [ -n "$failed" ] || return 1
        run "$@" --only "$failed" --jobs 1
        python3 -B judge.py "$work/$name.json" not-yet.txt >/dev/null || return 1
        echo "peers: passed alone: $failed"
    fi
}

run() {
    local name=$1 url=$2 config=$3
    shift 3
    python3 -B "$peers/py-checker/check.py" "$url" --config "$config" --json "$work/$name.json" "$@" >"$work/$name.out" 2>&1 || true
}

for runtime in std smol; do
    mkdir "$work/$runtime"
    start "$runtime" / --insecure
    open=$url
    start "$runtime" "$work/$runtime" --config "$peers/example/server.json"
    sed "s#/srv/workspace#$work/$runtime#; s#http://127.0.0.1:18712#$open#" "$peers/example/check.json" >"$work/check.json"
    check "$runtime" "$url" "$work/check.json"

    start "$runtime" "$work/$runtime" --insecure
    printf '{"all":"any","insecure":true,"root":"%s","insecureUrl":"%s","slashUrl":"%s"}' "$work/$runtime" "$open" "$open" >"$work/open.json"
    check "$runtime-insecure" "$url" "$work/open.json"
done
