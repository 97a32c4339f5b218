#!/usr/bin/env bash
# h2spec's strict suite against the movie server, on each backend (CORACLE_BACKENDS), plaintext and TLS: all of its
# cases pass, none is skipped, and the server still serves and ends well afterwards.
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
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext \
  "subjectAltName=IP:127.0.0.1" -keyout "$scratch/server.key" -out "$scratch/server.pem" 2>/dev/null
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

serves() { # scheme
  local code
  code=$(curl -sS --max-time 10 --http2-prior-knowledge --cacert "$scratch/server.pem" -o "$scratch/page" -w '%{http_code}' \
    "$1://127.0.0.1:$port/")
  [[ $code == 200 ]]
}

judge() { # name, scheme, h2spec's flags; the server's follow after --
  local name=$1 scheme=$2 flags=()
  shift 2
  while [[ $1 != -- ]]; do flags+=("$1") && shift; done
  shift
  rm -f "$scratch/said"
  mkfifo "$scratch/said"
  CORACLE_BACKEND=$backend "$bin/movie_server" --port=0 "$@" >"$scratch/said" 2>"$scratch/log" &
  server=$!
  # Held open for reading, so that the server can go on writing.
  exec 3<"$scratch/said"
  if ! read -r -t 15 line <&3 || [[ $line != *"listening on "* ]]; then
    echo "FAIL H2spec.$name: the movie server does not say where it listens: $(tail -n 1 "$scratch/log")"
    exit 1
  fi
  port=${line##*:}

  timeout 180 "$h2spec" -h 127.0.0.1 -p "$port" -o 2 -S "${flags[@]}" >"$scratch/report" 2>&1 || true
  score=$(grep -E '^[0-9]+ tests, ' "$scratch/report" || tail -n 1 "$scratch/report")
  check "$name.EveryCasePasses" "$score" [ "$score" = "$cases tests, $cases passed, 0 skipped, 0 failed" ]
  sed -n '/^Failures:/,$p' "$scratch/report"
  check "$name.TheServerStillServes" "GET / is not answered with 200 any more" serves "$scheme"
  kill -TERM "$server"
  check "$name.TheServerEndsWell" "its exit code is not 0" wait "$server"
}

for backend in ${CORACLE_BACKENDS:-io_uring epoll}; do
  judge "$backend" http --
  judge "$backend.Tls" https -t -k -- --cert "$scratch/server.pem" --key "$scratch/server.key"
done
exit "$failures"
