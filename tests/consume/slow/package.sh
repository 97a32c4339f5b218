#!/usr/bin/env bash
# `./dev package` makes a .deb that brings all that a user's build needs, and names what it does not bring.
. "$(dirname "${BASH_SOURCE[0]}")/../verdict.sh" consume-package

packages=$CORACLE_SOURCE_DIR/build/package/packages
root=$scratch/root

if ! command -v dpkg-shlibdeps >/dev/null; then
  echo "SKIP ADebianPackage: dpkg-dev is not installed"
  exit 0
fi

made() {
  rm -rf "$packages"
  # As somebody runs it by hand.
  env -u CXX -u CMAKE_GENERATOR -u CMAKE_BUILD_TYPE -u CMAKE_CXX_COMPILER_LAUNCHER "$CORACLE_SOURCE_DIR/dev" package && cp "$packages"/libcoracle-dev_*.deb "$scratch/libcoracle-dev.deb" &&
    cp "$packages"/coracle_*.deb "$scratch/coracle.deb"
}

# From what the build linked: by pkg-config's modules, protoc, and the libraries of the plugin.
depends() {
  local depends name
  depends=$(dpkg-deb --field "$scratch/libcoracle-dev.deb" Depends) || return
  for name in libprotobuf-dev liburing-dev libc-ares-dev zlib1g-dev libzstd-dev libbrotli-dev libsnappy-dev liblz4-dev \
    libssl-dev protobuf-compiler libprotoc libc6; do
    [[ ", $depends" == *", $name"* ]] || { echo "error: it does not depend on $name: $depends"; return 1; }
  done
  # Here, where all of it is installed, nothing is missing.
  dpkg --no-act --install "$scratch/libcoracle-dev.deb"
}

unpacked() {
  dpkg-deb --extract "$scratch/libcoracle-dev.deb" "$root" && project yard found && cd "$scratch/yard" &&
    cmake -S . -B build -DCMAKE_PREFIX_PATH="$root/usr" && cmake --build build && build/served
}

nothing_else() {
  local foreign
  foreign=$(cd "$root/usr" && find . -type f | grep -vE '^\./(include/coracle/.*\.hpp|bin/protoc-gen-coracle)$' |
    grep -vE '^\./lib/[^/]+/(libcoracle(_tls)?\.a|cmake/coracle/[^/]+\.cmake|pkgconfig/coracle(-tls)?\.pc)$' |
    grep -vE '^\./share/doc/libcoracle-dev/copyright$')
  [[ -e $root/usr/share/doc/libcoracle-dev/copyright ]] || { echo "error: it has no copyright file"; return 1; }
  [[ -z $foreign ]] || { echo "error: it also holds $foreign"; return 1; }
}

program() {
  local depends
  depends=$(dpkg-deb --field "$scratch/coracle.deb" Depends) && echo "error: it depends on $depends" || return
  # All else is in it.
  [[ $depends =~ ^libc6\ \([^,]*\)$ ]] || return
  dpkg-deb --extract "$scratch/coracle.deb" "$scratch/tool" && "$scratch/tool/usr/bin/coracle" --version
}

verdict ThePackageIsMade made
verdict ItDependsOnWhatTheBuildLinked depends
verdict AProjectBuildsAgainstTheUnpackedPackage unpacked
verdict ItHoldsTheLibraryAndThePluginAlone nothing_else
verdict TheProgramComesInAPackageOfItsOwn program
exit $status
