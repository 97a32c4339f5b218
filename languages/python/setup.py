"""The native module. CORACLE_LIBRARY is the file libcoracle_c.so.1, which the package takes along, and CORACLE_INCLUDE where
coracle.h lies; scripts/languages.py sets them."""

import os
import pathlib
import shutil

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = pathlib.Path(os.environ["CORACLE_LIBRARY"]).resolve()


class WithLibrary(build_ext):
    def run(self):
        super().run()
        target = pathlib.Path(self.get_ext_fullpath("coracle._native")).parent
        shutil.copyfile(LIBRARY, target / "libcoracle_c.so.1")


class ForAnyPython(bdist_wheel):
    def get_tag(self):
        python, abi, platform = super().get_tag()
        return ("cp38", "abi3", platform) if python.startswith("cp") else (python, abi, platform)


setup(
    ext_modules=[Extension("coracle._native", ["src/coracle/_native.c"], py_limited_api=True,
                           include_dirs=[os.environ["CORACLE_INCLUDE"]], extra_objects=[str(LIBRARY)],
                           # auditwheel tells the C library by what the module links, of which it uses nothing by itself.
                           extra_link_args=["-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-lc"], extra_compile_args=["-std=c11"])],
    cmdclass={"build_ext": WithLibrary, "bdist_wheel": ForAnyPython},
    options={"bdist_wheel": {"py_limited_api": "cp38"}},
)
