# What the scripts here share: a folder of their own, and servers that end with them. Sourced, with `server` set to the program.
work=$(mktemp -d)
pids=()
mkfifo "$work/stdin"
# A server serves until its standard input ends: until this script does, however that ends.
exec {stdin}<>"$work/stdin"
trap finish EXIT

# start RUNTIME FOLDER FLAG...: a server on a port of its own; its URL is in `url`.
start() {
    local log=$work/server-${#pids[@]}
    : >"$log"
    "$server" "$@" --listen 127.0.0.1:0 <"$work/stdin" >"$log" 2>"$log.err" {stdin}>&- &
    pids+=($!)
    wait_for "$log"
}

# wait_for LOG: the URL that a server says it listens at.
wait_for() {
    for _ in $(seq 200); do
        url=$(sed -n 's/^listening //p' "$1")
        [ -z "$url" ] || return 0
        kill -0 "${pids[-1]}" 2>/dev/null || break
        sleep 0.05
    done
    echo "a server does not start:" >&2
    cat "$1.err" >&2
    return 1
}

# Ends the servers, politely first: 5 s for all of them.
finish() {
    local status=$? pid tries=50
    exec {stdin}>&-
    for pid in "${pids[@]}"; do
        while [ "$tries" -gt 0 ] && kill -0 "$pid" 2>/dev/null; do
            sleep 0.1
            tries=$((tries - 1))
        done
        kill -KILL "$pid" 2>/dev/null && echo "a server did not end by itself" >&2 && status=1
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
    exit "$status"
}
