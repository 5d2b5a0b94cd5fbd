#!/usr/bin/env bash
# Clients that others wrote against `farside serve`, on both runtimes. Exits with 0 only if every one of them saw what it should.
# Takes the program: target/debug/farside without another.
set -euo pipefail
farside=$(realpath "${1:-$(dirname "$0")/../../target/debug/farside}")
cd "$(dirname "$0")"
. ./lib.sh

go build -o "$work/client-go" client.go

for runtime in std smol; do
    mkdir "$work/$runtime" "$work/$runtime/root"
    FARSIDE_TOKEN=interop start "$farside" serve "$work/$runtime/root" --listen 127.0.0.1:0 --runtime "$runtime"
    for client in "python3 -B client.py" "node client.mjs" "$work/client-go" "bash client.sh"; do
        began=$SECONDS
        if ! said=$(timeout 120 $client "$url" interop "$work/$runtime" 2>&1); then
            printf '%s on %s:\n%s\n' "$client" "$runtime" "$said" >&2
            exit 1
        fi
        echo "interop: ${client##*/} on $runtime, $((SECONDS - began)) s"
    done
done
