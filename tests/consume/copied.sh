#!/usr/bin/env bash
# include/ and src/ copied into an empty project, which builds them by a CMakeLists.txt of its own.
. "$(dirname "${BASH_SOURCE[0]}")/verdict.sh" consume-copied

copied() {
  mkdir -p "$scratch/coracle" && cp "$here"/copied/* "$scratch" &&
    cp -r "$CORACLE_SOURCE_DIR/include" "$CORACLE_SOURCE_DIR/src" "$scratch/coracle" && cd "$scratch" &&
    cmake -S . -B build -DCMAKE_BUILD_TYPE=None -DCMAKE_UNITY_BUILD=ON && cmake --build build && build/server
}

verdict CopiedSourcesBuildWithAProjectOfOnesOwn copied
exit $status
