#!/usr/bin/env bash
# curl against a server: client.sh URL TOKEN SCRATCH_FOLDER.
set -euo pipefail
url=$1 token=$2 scratch=$3

curl() { command curl -q -sS --noproxy '*' --http1.1 --max-time 60 "$@"; }
auth() { curl -H "Authorization: Bearer $token" "$@"; }
octets=(-H 'Content-Type: application/octet-stream')
json=(-H 'Content-Type: application/json')
is() { [ "$2" = "$3" ] || { printf '%s: got %s, want %s\n' "$1" "$2" "$3" >&2 && exit 1; }; }

head -c 5242880 /dev/urandom >"$scratch/big"

# An upload that waits to be told to go on is told to; one that is refused is not, and none of it is sent.
status=$(auth -v "${octets[@]}" -H 'Expect: 100-continue' --expect100-timeout 20 -T "$scratch/big" -w '%{http_code}' \
    "$url/v1/fs/file?path=curl/big" 2>"$scratch/trace")
is "upload" "$status" 204
grep -q '^< HTTP/1.1 100 Continue' "$scratch/trace" || { echo "no 100 before the body" >&2 && exit 1; }
status=$(curl -v "${octets[@]}" -H 'Expect: 100-continue' --expect100-timeout 20 -T "$scratch/big" -o /dev/null \
    -w '%{http_code} %{size_upload}' "$url/v1/fs/file?path=curl/no" 2>"$scratch/trace")
is "refused upload" "$status" "401 0"
! grep -q '^< HTTP/1.1 100' "$scratch/trace" || { echo "a body was asked for that nobody wants" >&2 && exit 1; }

auth "$url/v1/fs/file?path=curl/big" >"$scratch/again"
cmp "$scratch/big" "$scratch/again"

# In chunks, since what comes from a pipe has no length.
printf 'in a few pieces' | auth "${octets[@]}" -T - "$url/v1/fs/file?path=curl/small"
is "HEAD" "$(auth -I "$url/v1/fs/file?path=curl/small" | tr -d '\r' | sed -n 's/^Content-Length: //p')" 15

# Three requests, one connection.
reused=$(auth -w '%{http_code} %{num_connects}\n' -o "$scratch/1" "$url/v1/fs/file?path=curl/small" -o "$scratch/2" "$url/v1/info" \
    -o "$scratch/3" "$url/v1/fs/stat?path=curl/none" | tr '\n' ' ')
is "one connection" "$reused" "200 1 200 0 404 0 "
is "content" "$(cat "$scratch/1")" "in a few pieces"
is "error" "$(grep -o '"code":"not_exist"' "$scratch/3")" '"code":"not_exist"'

# HTTP/1.0: a body without a stated length ends with the connection, and there are no chunks.
is "HTTP/1.0" "$(auth -0 "$url/v1/fs/file?path=curl/small")" "in a few pieces"
lines=$(auth -0 -i "${json[@]}" -d '{"args":["echo","hi"],"stream":true}' "$url/v1/exec" | tr -d '\r')
is "HTTP/1.0 frames" "$(tail -n 2 <<<"$lines")" $'{"data":"aGkK"}\n{"output":{"exitCode":0}}'
! grep -qi '^transfer-encoding' <<<"$lines" || { echo "chunks in a reply to HTTP/1.0" >&2 && exit 1; }

# The command goes on only once its first line was seen here.
command='{"args":["sh","-c","echo first; while [ ! -e go ]; do sleep 0.02; done; echo second"],"dir":"curl","stream":true,"timeoutMs":20000}'
frames=$(auth -N "${json[@]}" -d "$command" "$url/v1/exec" | {
    IFS= read -r first
    auth "${octets[@]}" -T - "$url/v1/fs/file?path=curl/go" </dev/null
    echo "$first"
    cat
})
is "frames" "$frames" $'{"data":"Zmlyc3QK"}\n{"data":"c2Vjb25kCg=="}\n{"output":{"exitCode":0}}'
