#!/usr/bin/env bash
# Other projects use the library: installed, as a subproject, and as a shared library. A case each.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$CORACLE_BUILD_DIR/consume
rm -rf "$scratch"
mkdir -p "$scratch"
status=0

verdict() {  # verdict NAME COMMAND...: the command's last error line is the reason
  local name=$1
  shift
  if "$@" >"$scratch/$name.log" 2>&1; then
    echo "PASS $name"
  else
    echo "FAIL $name: $(grep -E -m1 'rror' "$scratch/$name.log" || tail -1 "$scratch/$name.log")"
    status=1
  fi
}

configure() { cmake -G Ninja -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Release "$@"; }

installed() {
  cmake --install "$CORACLE_BUILD_DIR" --prefix "$scratch/prefix" &&
    configure -S "$here/installed" -B "$scratch/installed" -DCMAKE_PREFIX_PATH="$scratch/prefix" &&
    cmake --build "$scratch/installed" && "$scratch/installed/program" && "$scratch/installed/served"
}

# As a shared library and with few large sources, so that one build shows all three.
subproject() {
  configure -S "$here/subproject" -B "$scratch/subproject" -DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=ON \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=10 \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache)" &&
    cmake --build "$scratch/subproject" --target program served && "$scratch/subproject/program" &&
    "$scratch/subproject/served"
}

links_openssl() { ldd "$1" | grep -E 'libssl|libcrypto'; }

plaintext_alone() {
  "$scratch/installed/secured" && links_openssl "$scratch/installed/secured" &&
    ! links_openssl "$scratch/installed/served"
}

self_contained() {
  local files
  files=$(find "$scratch/prefix" -name '*.cmake')
  [[ $files == *coracle_targets.cmake* ]] && ! grep -E 'coracle_build|/src/' $files
}

verdict AnInstalledPackageIsFoundLinkedAndRun installed
verdict AProgramWithoutTlsLinksNoOpenSsl plaintext_alone
verdict TheInstalledPackageDoesNotPointIntoTheSources self_contained
verdict ASubprojectBuildsTheSharedLibraryAndNoTests subproject
exit $status
