#!/usr/bin/env bash
# With shared libraries `./dev package` makes a package of them, too, which those of the headers and the program need.
. "$(dirname "${BASH_SOURCE[0]}")/../verdict.sh" consume-shared-package

root=$scratch/root

made() {
  cmake -S "$CORACLE_SOURCE_DIR" -B "$scratch/build" -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_SHARED_LIBS=ON \
    -DCORACLE_BUILD_TESTS=OFF -DCORACLE_BUILD_EXAMPLES=OFF -DCORACLE_BUILD_TOOLS=OFF -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=10 &&
    cmake --build "$scratch/build" && cpack --config "$scratch/build/CPackConfig.cmake" -B "$scratch/packages"
}

needs() {  # needs PACKAGE WORD...: each names a dependency; after a ! none that may be there
  local depends word
  depends=$(dpkg-deb --field "$scratch/packages/$1"_*.deb Depends) || return
  for word in "${@:2}"; do
    case $word in
      !*) [[ $depends != *${word#!}* ]] ;;
      *) [[ $depends == *$word* ]] ;;
    esac || { echo "error: $1 depends on $depends: $word"; return 1; }
  done
}

depend() {
  needs libcoracle0.1 liburing2 libc-ares2 libssl3 libprotobuf !-dev &&
    needs libcoracle-dev 'libcoracle0.1 (= 0.1' libprotobuf-dev protobuf-compiler !liburing !libssl
}

used() {
  local package
  for package in "$scratch"/packages/*.deb; do dpkg-deb --extract "$package" "$root" || return; done
  project yard found && cd "$scratch/yard" && cmake -S . -B build -DCMAKE_PREFIX_PATH="$root/usr" &&
    cmake --build build && build/served && ldd build/served | grep "$root.*libcoracle.so.0.1"
}

if ! command -v dpkg-shlibdeps >/dev/null; then
  echo "SKIP SharedLibrariesComeInAPackageOfTheirOwn: dpkg-dev is not installed"
  exit 0
fi
verdict SharedLibrariesComeInAPackageOfTheirOwn made
verdict TheHeadersPackageNeedsThatOfTheLibraryAndNotWhatItLinks depend
verdict AProjectLinksTheUnpackedSharedLibraries used
exit $status
