#!/usr/bin/env bash
# Other projects use the library: installed, as a subproject, and as a shared library. A case each.
. "$(dirname "${BASH_SOURCE[0]}")/verdict.sh" consume

installed() {
  cmake --install "$CORACLE_BUILD_DIR" --prefix "$scratch/prefix" &&
    cmake -S "$here/installed" -B "$scratch/installed" -DCMAKE_PREFIX_PATH="$scratch/prefix" &&
    cmake --build "$scratch/installed" && "$scratch/installed/program" && "$scratch/installed/served"
}

# As a shared library and with few large sources, so that one build shows all three.
cheap=(-DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=10)
subproject() {
  cmake -S "$here/subproject" -B "$scratch/subproject" "${cheap[@]}" -DCMAKE_INSTALL_BINDIR=libexec/coracle \
    -DCMAKE_INSTALL_INCLUDEDIR=include/coracle-0.1 &&
    cmake --build "$scratch/subproject" && "$scratch/subproject/program" && "$scratch/subproject/served"
}

# What the subproject compiled is compiled here, too.
fetched() {
  project fetched fetched && cd "$scratch/fetched" &&
    cmake -S . -B ../built "${cheap[@]}" &&
    cmake --build ../built && ../built/served
}

links_openssl() { ldd "$1" | grep -E 'libssl|libcrypto'; }

plaintext_alone() {
  "$scratch/installed/secured" && links_openssl "$scratch/installed/secured" &&
    ! links_openssl "$scratch/installed/served"
}

self_contained() {
  local files
  files=$(find "$scratch/prefix" -name '*.cmake' -o -name '*.pc')
  [[ $files == *coracle_targets.cmake* && $files == *coracle-tls.pc* && ! -e $scratch/prefix/share/doc ]] &&
    ! grep -E "coracle_build|/src/|$scratch" $files
}

unknown_component() {
  project component found &&
    sed -i 's/COMPONENTS tls/COMPONENTS oars/' "$scratch/component/CMakeLists.txt" &&
    ! cmake -S "$scratch/component" -B "$scratch/component/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
      >"$scratch/component.txt" 2>&1 &&
    grep 'coracle has no component oars; there is tls' "$scratch/component.txt"
}

# CMake is told that there is no OpenSSL.
tls_component() {
  local without=(-DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON)
  mkdir "$scratch/optional" && printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(optional CXX)' \
    'find_package(coracle 0.1 REQUIRED)' 'if(NOT TARGET coracle::coracle OR TARGET coracle::tls)' \
    'message(FATAL_ERROR "not the library without TLS")' 'endif()' >"$scratch/optional/CMakeLists.txt" &&
    cmake -S "$scratch/optional" -B "$scratch/optional/build" "${without[@]}" &&
    project required found &&
    ! cmake -S "$scratch/required" -B "$scratch/required/build" "${without[@]}" >"$scratch/required.txt" 2>&1 &&
    grep 'the component tls needs OpenSSL 3.0 or newer' "$scratch/required.txt"
}

# Prints what a library exports beside what is in our namespace.
foreign_exports() {
  nm --dynamic --defined-only --format=posix "$1" |
    grep -vE '^_Z(GV|T[VTISHWC]|T[hv][n0-9_]+)?Z?N[KRO]*7coracle'
}

# Installed into folders of other names, and then moved.
moved() {
  cmake --install "$scratch/subproject" --prefix "$scratch/first" && mv "$scratch/first" "$scratch/shared" &&
    [[ -x $scratch/shared/libexec/coracle/protoc-gen-coracle ]] && project moved found && cd "$scratch/moved" &&
    cmake -S . -B build -DCMAKE_PREFIX_PATH="$scratch/shared" && cmake --build build && build/served
}

exports() {
  local library
  for library in "$scratch"/shared/lib*/libcoracle{,_tls}.so; do
    nm --dynamic --defined-only "$library" | grep -c ' T _ZN7coracle' || { echo "error: $library exports nothing"; return 1; }
    ! foreign_exports "$library" | sed 's/^/error: it exports /' | grep . || return
  done
}

makes() {  # makes PREFIX: with make and pkg-config
  local name
  name=make-$(basename "$1")
  project "$name" pkgconfig && cd "$scratch/$name" || return
  PKG_CONFIG_PATH=$(dirname "$(find "$1" -name coracle.pc)")
  LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
  export PKG_CONFIG_PATH LD_LIBRARY_PATH
  make && ./served && pkg-config --exists coracle-tls
}

# A shared library links what it stands on by itself; of a static one, everybody must.
private_libraries() {
  local shared static
  shared=$(PKG_CONFIG_PATH=$(dirname "$(find "$scratch/shared" -name coracle.pc)") pkg-config --libs coracle-tls)
  static=$(PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name coracle.pc)") pkg-config --static --libs coracle-tls)
  echo "error: shared: $shared; static: $static"
  [[ $shared == *-lcoracle_tls* && $shared == *-lprotobuf* && $shared != *-luring* && $shared != *-lssl* &&
    $static == *-luring* && $static == *-lcares* && $static == *-lzstd* && $static == *-lssl* ]]
}

verdict AnInstalledPackageIsFoundLinkedAndRun installed
verdict AProgramWithoutTlsLinksNoOpenSsl plaintext_alone
verdict TheInstalledPackageDoesNotPointIntoTheSources self_contained
verdict AComponentThatThereIsNotIsNamed unknown_component
verdict WithoutOpenSslOnlyTheTlsComponentIsMissing tls_component
verdict MakeAndPkgConfigLinkTheStaticLibrary makes "$scratch/prefix"
verdict ASubprojectBuildsTheSharedLibraryAndNoTests subproject
verdict ThePluginIsFoundWhereverItWasInstalled moved
verdict TheSharedLibrariesExportOurNamespaceAlone exports
verdict MakeAndPkgConfigLinkTheSharedLibrary makes "$scratch/shared"
verdict PkgConfigNamesPrivateLibrariesForTheStaticLibraryAlone private_libraries
verdict FetchContentTakesALocalFolder fetched
exit $status
