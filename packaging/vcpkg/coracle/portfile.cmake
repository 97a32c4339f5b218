# An overlay port of the tree that it lies in: vcpkg install coracle --overlay-ports=packaging/vcpkg
cmake_path(SET SOURCE_PATH NORMALIZE "${CURRENT_PORT_DIR}/../../..")

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DCORACLE_BUILD_TESTS=OFF -DCORACLE_BUILD_EXAMPLES=OFF -DCORACLE_BUILD_TOOLS=OFF
    -DCORACLE_BUILD_PLUGIN=ON -DCORACLE_BUILD_XDS=OFF -DCORACLE_COMPRESSIONS=brotli,lz4,snappy)
vcpkg_cmake_install()
vcpkg_copy_tools(TOOL_NAMES protoc-gen-coracle AUTO_CLEAN)
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/coracle)
vcpkg_fixup_pkgconfig()
# Where vcpkg keeps programs.
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/lib/pkgconfig/coracle.pc" "{prefix}/bin/" "{prefix}/tools/coracle/")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
