# Read by the scripts of this folder: `. verdict.sh SCRATCH` sets here and scratch, a folder of its own below the build.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export CORACLE_SOURCE_DIR=${CORACLE_SOURCE_DIR:-$(cd "$here/../.." && pwd)}
export CORACLE_BUILD_DIR=${CORACLE_BUILD_DIR:-$CORACLE_SOURCE_DIR/build/release}
scratch=$CORACLE_BUILD_DIR/$1
rm -rf "$scratch"
mkdir -p "$scratch"
status=0

# So that the commands below are those of the guide. What is compiled twice, ccache knows from any folder.
export CXX=g++ CMAKE_GENERATOR=Ninja CMAKE_BUILD_TYPE=Release
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$CORACLE_SOURCE_DIR CCACHE_NOHASHDIR=1
fi

# verdict NAME COMMAND...: apart, so that it may change its folder and variables; its first line with an error is the reason.
verdict() {
  local name=$1
  shift
  if ("$@") >"$scratch/$name.log" 2>&1; then
    echo "PASS $name"
  else
    echo "FAIL $name: $(grep -E -m1 'rror' "$scratch/$name.log" || tail -1 "$scratch/$name.log")"
    status=1
  fi
}

project() {  # project NAME KIND: a user's project in an empty folder, built as tests/consume/KIND says
  mkdir -p "$scratch/$1" && cp "$here/$2"/* "$here/served.cpp" "$here/three_generators/shipyard.proto" "$scratch/$1"
}
