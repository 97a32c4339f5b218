#!/usr/bin/env bash
# Builds for another machine, whose protoc-gen-coracle does not run on this one.
. "$(dirname "${BASH_SOURCE[0]}")/verdict.sh" consume-cross

prefix=$scratch/target
host=$scratch/host

cmake --install "$CORACLE_BUILD_DIR" --prefix "$prefix" >"$scratch/install.log"
mkdir "$host"
mv "$prefix/bin/protoc-gen-coracle" "$host"
# As the header of a program for another processor: the kernel refuses it.
printf '\x7fELF\x02\x01\x01' >"$prefix/bin/protoc-gen-coracle"
chmod +x "$prefix/bin/protoc-gen-coracle"
project yard found
cd "$scratch/yard" || exit 1

configured() { cmake -S . -B "$1" --toolchain "$here/cross/toolchain.cmake" -DCMAKE_PREFIX_PATH="$prefix" "${@:2}"; }

runs_hosts() { grep -F -- "--plugin=protoc-gen-coracle=$host/protoc-gen-coracle" "$1/build.ninja"; }

on_the_path() {
  PATH=$host:$PATH configured path && runs_hosts path && cmake --build path && path/served
}

by_name() { configured name -DCORACLE_PLUGIN="$host/protoc-gen-coracle" && runs_hosts name; }

none() {
  ! configured none >none.txt 2>&1 && tr -s '\n ' ' ' <none.txt |
    grep 'coracle_generate: there is no protoc-gen-coracle that runs on this machine; build Coracle for it and set CORACLE_PLUGIN'
}

# A tree for another machine often comes without its programs.
without_programs() {
  mv "$prefix/bin" "$prefix/away" && configured bare -DCORACLE_PLUGIN="$host/protoc-gen-coracle" && runs_hosts bare
}

library_alone() {
  cmake -S "$CORACLE_SOURCE_DIR" -B library --toolchain "$here/cross/toolchain.cmake" -DCORACLE_BUILD_TESTS=OFF \
    -DCORACLE_BUILD_EXAMPLES=OFF -DCORACLE_BUILD_TOOLS=OFF && cmake --build library --target coracle_wellknown &&
    grep -c libcoracle_tls.a library/build.ninja && ! grep protoc-gen-coracle library/build.ninja
}

verdict ACrossBuildTakesThePluginOnThePathAndNotThatOfTheTarget on_the_path
verdict ACrossBuildTakesThePluginThatItIsTold by_name
verdict ACrossBuildWithoutAPluginSaysTheMend none
verdict APackageWithoutItsProgramsServesACrossBuild without_programs
verdict TheLibraryItselfNeedsNoPlugin library_alone
exit $status
