"""Coracle for Conan 2. What it stands on comes from the system (apt-get install ...), not from Conan: no network needed.

    conan create packaging/conan --no-remote
"""

import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Coracle(ConanFile):
    name = "coracle"
    description = "gRPC for C++20: coroutines on io_uring and epoll"
    homepage = "https://git.example.org/coracle/coracle"
    license = "Apache-2.0"
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]

    def _project(self):
        return pathlib.Path(self.recipe_folder).parents[1]

    def set_version(self):
        project = load(self, self._project() / "CMakeLists.txt")
        found = re.search(r'project\(coracle VERSION ([\d.]+).*set\(coracle_version_suffix "(.*?)"\)', project, re.S)
        self.version = found[1] + found[2]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "adapters/*", "cmake/*", "codegen/*", "include/*", "modules/*", "packaging/*", "proto/*",
                        "src/*"):
            copy(self, pattern, self._project(), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Coracle's runtime stands on io_uring and epoll: it is for Linux")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        for part in ("TESTS", "EXAMPLES", "TOOLS", "XDS"):
            toolchain.cache_variables[f"CORACLE_BUILD_{part}"] = False
        toolchain.cache_variables["CORACLE_COMPRESSIONS"] = "brotli,lz4,snappy"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder) / "licenses")
        CMake(self).install()

    def package_info(self):
        # The package's own file brings coracle_generate() and knows what the library links.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/coracle"]
        self.cpp_info.libs = ["coracle_naming", "coracle_telemetry", "coracle_console", "coracle_tls", "coracle"]
