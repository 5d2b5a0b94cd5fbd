#!/usr/bin/env bash
# The wire and the core build, link and run without std; with a user of std among them they do not. Takes a directory to build in.
set -euo pipefail
cd "$(dirname "$0")"
target=${1:?a directory to build in}

cargo build --quiet --locked --target-dir "$target"
library=$target/debug/libfarside_no_std_proof.a
cc -o "$target/no-std-proof" main.c "$library"
"$target/no-std-proof"

# Beside memory functions nothing is asked of the system: no clock, no thread, no file, no socket.
asked=$(nm --undefined-only --format=just-symbols "$target/no-std-proof" | sed 's/@.*//' | sort -u | tr '\n' ' ')
for symbol in $asked; do
    case $symbol in
        __libc_start_main | __cxa_finalize | __gmon_start__ | _ITM_*) ;; # of the C program itself
        bcmp | memcmp | memcpy | memmove | memset | strlen) ;;
        _Unwind_*) ;; # of the precompiled core, never called: a panic aborts
        *) echo "the library asks for $symbol" >&2 && exit 1 ;;
    esac
done

if said=$(cargo build --quiet --locked --target-dir "$target" --features with-std 2>&1); then
    echo "a user of std was not noticed" >&2 && exit 1
fi
grep -q 'panic_impl' <<<"$said" || { echo "$said" >&2 && exit 1; }
