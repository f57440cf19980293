"""The Conan recipe of libndr: `conan create packages/conan` in the folder of the sources, with Conan 2."""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class LibndrConan(ConanFile):
    name = "libndr"
    description = "SYCL's ND-range kernel model in plain C, on OpenCL"
    license = "Apache-2.0"
    topics = ("opencl", "gpu", "sycl")
    package_type = "shared-library"  # and a static one, ndr::ndr_static
    settings = "os", "compiler", "build_type", "arch"
    options = {"tools": [True, False]}  # the command ndr, which ndr_add_kernels() needs
    default_options = {"tools": True}
    languages = "C"

    def set_version(self):
        for folder in (os.path.join(self.recipe_folder, "../.."), self.recipe_folder):
            header = os.path.join(folder, "include/ndr/ndr.h")
            if os.path.exists(header):
                self.version = re.search(r'NDR_VERSION_STRING +"([^"]+)"', load(self, header)).group(1)

    def export(self):
        copy(self, "include/ndr/ndr.h", os.path.join(self.recipe_folder, "../.."), self.export_folder)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for pattern in ("CMakeLists.txt", "*.md", "LICENSE", "cmake/*", "docs/*", "examples/*", "include/*", "kernels/*",
                        "src/*", "tools/*"):
            copy(self, pattern, root, self.export_sources_folder, excludes="build/*")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("libndr builds on Linux only")

    def requirements(self):
        self.requires("opencl-headers/2023.12.14", transitive_headers=True)
        self.requires("xxhash/0.8.3", visible=False)
        if self.options.tools:
            self.requires("jansson/2.14", visible=False)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()  # also tells find_path() and find_library() where the packages are
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["NDR_BUILD_TESTS"] = False
        toolchain.cache_variables["NDR_BUILD_EXAMPLES"] = False
        toolchain.cache_variables["NDR_BUILD_MPI"] = False
        toolchain.cache_variables["NDR_BUILD_TOOLS"] = bool(self.options.tools)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # libndr's own CMake files define ndr::ndr and ndr::ndr_static, and the functions that embed kernels.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/ndr"]
        self.cpp_info.set_property("pkg_config_name", "ndr")
        self.cpp_info.set_property("pkg_config_custom_content", "kernelsdir=${prefix}/share/ndr/kernels")
        self.cpp_info.libs = ["ndr"]
