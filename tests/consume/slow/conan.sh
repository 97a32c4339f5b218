#!/usr/bin/env bash
# Conan makes a package of the tree and tries it, without a remote to ask.
. "$(dirname "${BASH_SOURCE[0]}")/../verdict.sh" consume-conan

venv=$CORACLE_SOURCE_DIR/build/conan
if ! "$venv/bin/conan" --version >/dev/null 2>&1 &&
  ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet conan==2.34.0; } >"$scratch/install.log" 2>&1; then
  echo "SKIP ConanCreatesAPackageWithoutANetwork: conan cannot be installed: $(tail -1 "$scratch/install.log")"
  exit 0
fi
export CONAN_HOME=$scratch/home

created() {
  cd "$CORACLE_SOURCE_DIR" && "$venv/bin/conan" profile detect &&
    "$venv/bin/conan" create packaging/conan --no-remote --settings build_type=Debug \
      --conf tools.cmake.cmaketoolchain:generator=Ninja --conf tools.cmake.cmake_layout:test_folder="$scratch/test" \
      --conf tools.cmake.cmaketoolchain:extra_variables="{'CMAKE_UNITY_BUILD': 'ON', 'CMAKE_UNITY_BUILD_BATCH_SIZE': '10'}"
}

verdict ConanCreatesAPackageWithoutANetwork created
exit $status
