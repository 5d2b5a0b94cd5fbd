#!/usr/bin/env bash
# Two peers of the wire that others wrote: their checker against our server, on both runtimes, with authentication and without, and our
# clients against their server. Takes the folder of the peers, and the folder of our programs (target/debug without another).
#
# Cases that are known to fail stand in not-yet.txt. A case that fails beside is tried again by itself, since many look at times that a
# busy machine may miss.
set -euo pipefail
peers=$(realpath "$1")
programs=$(realpath "${2:-$(dirname "$0")/../../target/debug}")
cd "$(dirname "$0")"
. ./lib.sh

# check NAME URL CONFIG: one run of the checker, and up to two more of the cases that fail.
check() {
    local name=$1 began=$SECONDS failed again
    run "$@"
    echo "peers: checker on $name: $(tail -n 1 "$work/$name.out"), $((SECONDS - began)) s"
    failed=$(judge "$name") || [ -n "$failed" ] || return 1
    for again in 1 2; do
        [ -n "$failed" ] || return 0
        run "$@" --only "$failed" --jobs 1
        echo "peers: tried again: $failed"
        failed=$(judge "$name") || true
    done
    [ -z "$failed" ]
}

judge() {
    python3 -B judge.py "$work/$1.json" not-yet.txt
}

run() {
    local name=$1 url=$2 config=$3
    shift 3
    python3 -B "$peers/py-checker/check.py" "$url" --config "$config" --json "$work/$name.json" "$@" >"$work/$name.out" 2>&1 || true
}

for runtime in std smol; do
    mkdir "$work/$runtime"
    start "$programs/checked-server" "$runtime" / --insecure
    open=$url
    start "$programs/checked-server" "$runtime" "$work/$runtime" --config "$peers/example/server.json"
    sed "s#/srv/workspace#$work/$runtime#; s#http://127.0.0.1:18712#$open#" "$peers/example/check.json" >"$work/check.json"
    check "$runtime" "$url" "$work/check.json"

    start "$programs/checked-server" "$runtime" "$work/$runtime" --insecure
    printf '{"all":"any","insecure":true,"root":"%s","insecureUrl":"%s","slashUrl":"%s"}' "$work/$runtime" "$open" "$open" >"$work/open.json"
    check "$runtime-insecure" "$url" "$work/open.json"
done

(cd "$peers/go-server" && go build -o "$work/peerserver" .)
mkdir "$work/theirs" "$work/scratch"
start "$work/peerserver" -root "$work/theirs" -listen 127.0.0.1:0 -config "$peers/example/server.json"
began=$SECONDS
bash client-farside.sh "$programs/farside" "$url" tok-all "$work/scratch"
echo "peers: our command line on their server, $((SECONDS - began)) s"
began=$SECONDS
FARSIDE_PEER_URL=$url FARSIDE_PEER_ROOT=$work/theirs FARSIDE_PEER_TOKEN=tok-all \
    cargo test --quiet --workspace --test conformance a_peer -- --exact >"$work/conformance" 2>&1 || {
    cat "$work/conformance" >&2
    exit 1
}
echo "peers: the conformance suite on their server, $((SECONDS - began)) s"
