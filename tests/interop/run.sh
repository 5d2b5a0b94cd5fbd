#!/usr/bin/env bash
# Clients that others wrote against our server, on both runtimes. Exits with 0 only if every one of them saw what it should.
# Takes the server to run: target/debug/checked-server without another.
set -euo pipefail
cd "$(dirname "$0")"
server=$(realpath "${1:-../../target/debug/checked-server}")
. ./lib.sh

GOTOOLCHAIN=local GOFLAGS=-mod=mod GOPROXY=off go build -o "$work/client-go" client.go

for runtime in std smol; do
    mkdir "$work/$runtime" "$work/$runtime/root"
    start "$runtime" "$work/$runtime/root" --config server.json
    for client in "python3 -B client.py" "node client.mjs" "$work/client-go" "bash client.sh"; do
        began=$SECONDS
        if ! said=$(timeout 120 $client "$url" interop "$work/$runtime" 2>&1); then
            printf '%s on %s:\n%s\n' "$client" "$runtime" "$said" >&2
            exit 1
        fi
        echo "interop: ${client##*/} on $runtime, $((SECONDS - began)) s"
    done
done
