#!/usr/bin/env bash
# The overlay port, where there is a vcpkg.
. "$(dirname "${BASH_SOURCE[0]}")/../verdict.sh" consume-vcpkg

if ! command -v vcpkg >/dev/null; then
  echo "SKIP VcpkgBuildsTheOverlayPort: vcpkg is not installed"
  exit 0
fi

built() {
  vcpkg install coracle --overlay-ports="$CORACLE_SOURCE_DIR/packaging/vcpkg" --x-install-root="$scratch/installed" &&
    cp "$CORACLE_SOURCE_DIR"/packaging/conan/test_package/{CMakeLists.txt,greeter.cpp,greeter.proto} "$scratch" &&
    cmake -S "$scratch" -B "$scratch/build" -DVCPKG_INSTALLED_DIR="$scratch/installed" \
      --toolchain "$(dirname "$(readlink -f "$(command -v vcpkg)")")/scripts/buildsystems/vcpkg.cmake" &&
    cmake --build "$scratch/build" && "$scratch/build/greeter"
}

verdict VcpkgBuildsTheOverlayPort built
exit $status
