#!/usr/bin/env bash
# h2spec's strict suite against the movie server. Its score is information; what is judged is that the server
# survives it and still serves.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=${CORACLE_BIN:-$root/build/release/bin}
h2spec=${CORACLE_PEERS:-$root/build/peers/bin}/h2spec

if [[ ! -x $h2spec ]]; then
  echo "SKIP H2spec: h2spec is not installed; ./dev peers would"
  exit 0
fi

scratch=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$scratch"' EXIT
mkfifo "$scratch/said"
"$bin/movie_server" --port=0 >"$scratch/said" 2>"$scratch/log" &
server=$!
# Held open for reading, so that the server can go on writing.
exec 3<"$scratch/said"
if ! read -r -t 15 line <&3 || [[ $line != *"listening on "* ]]; then
  echo "FAIL H2spec: the movie server does not say where it listens: $(tail -n 1 "$scratch/log")"
  exit 1
fi
port=${line##*:}

timeout 180 "$h2spec" -h 127.0.0.1 -p "$port" -o 2 -S >"$scratch/report" 2>&1 || true
grep -E '^[0-9]+ tests, ' "$scratch/report" || tail -n 3 "$scratch/report"
sed -n '/^Failures:/,$p' "$scratch/report"

if [[ $(curl -sS --max-time 10 --http2-prior-knowledge -o "$scratch/page" -w '%{http_code}' "http://127.0.0.1:$port/") != 200 ]]; then
  echo "FAIL H2spec.TheServerStillServes: GET / is not answered with 200 any more"
  exit 1
fi
echo "PASS H2spec.TheServerStillServes"
kill -TERM "$server"
if wait "$server"; then
  echo "PASS H2spec.TheServerEndsWell"
else
  echo "FAIL H2spec.TheServerEndsWell: exit code $?"
  exit 1
fi
