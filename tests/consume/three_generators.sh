#!/usr/bin/env bash
# Our generated classes beside those of grpc_cpp_plugin and of protoc itself, in a project that finds the
# installed library.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${CORACLE_BUILD_DIR:-$here/../../build/release}
scratch=$build/consume-grpc
rm -rf "$scratch"
mkdir -p "$scratch"
log=$scratch/build.log

if ! command -v grpc_cpp_plugin >/dev/null || ! pkg-config --exists grpc++; then
  echo "SKIP ThreeGeneratorsInOneProgram: libgrpc++-dev and protobuf-compiler-grpc are not installed"
  exit 0
fi

if ! {
  cmake --install "$build" --prefix "$scratch/prefix" &&
    cmake -G Ninja -S "$here/three_generators" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
      -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache)" &&
    cmake --build "$scratch/build"
} >"$log" 2>&1; then
  echo "FAIL ThreeGeneratorsInOneProgram: $(grep -E -m1 'rror' "$log" || tail -1 "$log")"
  exit 1
fi

status=0
if "$scratch/build/bin/two_generators"; then
  echo "PASS TwoGeneratorsInOneProgram"
else
  echo "FAIL TwoGeneratorsInOneProgram: the names of the service differ"
  status=1
fi
# A line for each of its tests.
"$scratch/build/bin/three_generators" >"$scratch/run.log" 2>&1 || status=1
sed -n -E 's/^\[       OK \] (\S+) .*/PASS \1/p; s/^\[  FAILED  \] (\S+) \(.*/FAIL \1: see run.log/p' "$scratch/run.log"
grep -q '^\[  PASSED  \] 4 tests' "$scratch/run.log" || {
  echo "FAIL ThreeGeneratorsInOneProgram: $(tail -1 "$scratch/run.log")"
  status=1
}
exit $status
