#!/usr/bin/env bash
# h2spec's strict suite against the movie server, on each backend: all of its cases pass, none is skipped, and the server
# still serves and ends well afterwards.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=${CORACLE_BIN:-$root/build/release/bin}
h2spec=${CORACLE_PEERS:-$root/build/peers/bin}/h2spec
cases=146

if [[ ! -x $h2spec ]]; then
  echo "SKIP H2spec: h2spec is not installed; ./dev peers would"
  exit 0
fi

scratch=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$scratch"' EXIT
failures=0

check() { # name, reason when it fails, condition...
  local name=$1 reason=$2
  shift 2
  if "$@"; then
    echo "PASS H2spec.$name"
  else
    echo "FAIL H2spec.$name: $reason"
    failures=1
  fi
}

serves() {
  [[ $(curl -sS --max-time 10 --http2-prior-knowledge -o "$scratch/page" -w '%{http_code}' "http://127.0.0.1:$port/") == 200 ]]
}

for backend in io_uring epoll; do
  rm -f "$scratch/said"
  mkfifo "$scratch/said"
  CORACLE_BACKEND=$backend "$bin/movie_server" --port=0 >"$scratch/said" 2>"$scratch/log" &
  server=$!
  # Held open for reading, so that the server can go on writing.
  exec 3<"$scratch/said"
  if ! read -r -t 15 line <&3 || [[ $line != *"listening on "* ]]; then
    echo "FAIL H2spec.$backend: the movie server does not say where it listens: $(tail -n 1 "$scratch/log")"
    exit 1
  fi
  port=${line##*:}

  timeout 180 "$h2spec" -h 127.0.0.1 -p "$port" -o 2 -S >"$scratch/report" 2>&1 || true
  score=$(grep -E '^[0-9]+ tests, ' "$scratch/report" || tail -n 1 "$scratch/report")
  check "$backend.EveryCasePasses" "$score" [ "$score" = "$cases tests, $cases passed, 0 skipped, 0 failed" ]
  sed -n '/^Failures:/,$p' "$scratch/report"
  check "$backend.TheServerStillServes" "GET / is not answered with 200 any more" serves
  kill -TERM "$server"
  check "$backend.TheServerEndsWell" "its exit code is not 0" wait "$server"
done
exit "$failures"
