# What the scripts here share: a folder of their own, and servers that end with them. Sourced.
work=$(mktemp -d)
pids=()
mkfifo "$work/stdin"
# Some servers serve until their standard input ends: until this script does, however that ends.
exec {stdin}<>"$work/stdin"
trap finish EXIT

export GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-buildvcs=false

# start COMMAND...: a server on a port of its own, and the URL that it says it listens at in `url`.
start() {
    local log=$work/server-${#pids[@]}
    : >"$log"
    "$@" <"$work/stdin" >"$log" 2>&1 {stdin}>&- &
    pids+=($!)
    for _ in $(seq 200); do
        url=$(grep -o -m 1 'http://[0-9.:]*' "$log") && return 0
        kill -0 "${pids[-1]}" 2>/dev/null || break
        sleep 0.05
    done
    echo "a server does not start: $*" >&2
    cat "$log" >&2
    return 1
}

# Ends the servers, politely: by the end of their input, then by TERM, and each has 5 s.
finish() {
    local status=$? pid
    exec {stdin}>&-
    for pid in "${pids[@]}"; do
        ended "$pid" 10 || { kill -TERM "$pid" && ended "$pid" 50; } || {
            kill -KILL "$pid"
            echo "a server did not end by itself" >&2
            status=1
        }
    done
    rm -rf "$work"
    exit "$status"
}

# ended PID TENTHS: whether it ends within so many tenths of a second.
ended() {
    for _ in $(seq "$2"); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.1
    done
    ! kill -0 "$1" 2>/dev/null
}
