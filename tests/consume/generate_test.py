"""Drives coracle_generate() as other projects do: all kinds of targets, both generators, changes, and mistakes.

The library itself is replaced by its headers: nothing here calls into it.
"""

import json
import pathlib
import shutil
import subprocess

import pytest

from programs import ROOT, own
from user_project import CONSUME, first_error

SOURCES = CONSUME / "generate"

# Makefiles have to show their dependencies; what a kind of target needs, Ninja has shown.
PROGRAMS = {
    "Ninja": ("executable", "uses_static", "uses_object", "uses_interface", "uses_shared", "uses_private",
              "uses_late", "uses_names", "uses_annotations", "uses_precompiled"),
    "Unix Makefiles": ("executable", "uses_interface"),
}


class Folder:
    """A copy of the sources, to be changed at will, and its build."""

    def __init__(self, folder):
        self.source, self.build = folder / "source", folder / "build"
        shutil.copytree(SOURCES, self.source)


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return result.returncode, result.stdout + result.stderr


def succeed(*command):
    code, text = run(*command)
    assert code == 0, first_error(text)
    return text


def configure(source, build, generator="Ninja"):
    return run("cmake", "-S", source, "-B", build, "-G", generator, f"-DCORACLE_PLUGIN={own('protoc-gen-coracle')}",
               f"-DCORACLE_ROOT={ROOT}", "-DCMAKE_CXX_COMPILER=g++", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
               f"-DCMAKE_CXX_COMPILER_LAUNCHER={shutil.which('ccache') or ''}")


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda generator: generator.replace(" ", ""))
def generator(request):
    program = {"Ninja": "ninja", "Unix Makefiles": "make"}[request.param]
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    return request.param


@pytest.fixture(scope="module")
def built(generator, tmp_path_factory):
    """With all kinds of targets."""
    folder = Folder(tmp_path_factory.mktemp("generate"))
    code, text = configure(folder.source, folder.build, generator)
    assert code == 0, text.strip().splitlines()[-1]
    succeed("cmake", "--build", folder.build, "--parallel", "--target", *PROGRAMS[generator])
    return folder


@pytest.mark.timeout(240)
def test_every_kind_of_target(generator, built):
    for program in PROGRAMS[generator]:
        succeed(built.build / "bin" / program)
    again = succeed("cmake", "--build", built.build, "--target", *PROGRAMS[generator])
    assert "Generating" not in again and "Building" not in again, "a second build builds again"
    assert (built.build / "generated/executable/shop/v1/shop.protoset").exists(), "GENERATE_DESCRIPTORS wrote no shop.protoset"


def test_a_change_to_one_proto_generates_it_alone(built):
    """Each .proto is a step of its own, so that a build runs protoc for several at the same time."""
    shop = built.source / "protos/shop/v1/shop.proto"
    shop.write_text(shop.read_text() + "\nmessage Later {}\n")
    text = succeed("cmake", "--build", built.build, "--target", "executable")
    assert "Generating C++ from shop/v1/shop.proto" in text
    assert "Generating C++ from shop/v1/item.proto" not in text


def test_generated_sources_do_without_a_precompiled_header(built):
    commands = json.loads((built.build / "compile_commands.json").read_text())
    compiles = {pathlib.Path(one["file"]).name: "cmake_pch" in one["command"] for one in commands
                if "/uses_precompiled.dir/" in one["command"] and "cmake_pch" not in one["file"]}
    assert compiles == {"program.cpp": True, "item.pb.cc": False, "shop.pb.cc": False}


def test_a_change_to_an_import_generates_again(built):
    item = built.source / "protos/shop/v1/item.proto"
    item.write_text(item.read_text().replace("string name = 1;", "string name = 1;\n  int32 weight_g = 9;"))
    text = succeed("cmake", "--build", built.build, "--target", "executable")
    for name in ("item", "shop"):
        assert f"Generating C++ from shop/v1/{name}.proto" in text, f"{name}.proto is not generated again"
    assert "weight_g" in (built.build / "generated/executable/shop/v1/item.pb.h").read_text()


def test_a_broken_proto_stops_the_build_with_protocs_line(tmp_path):
    folder = Folder(tmp_path)
    shop = folder.source / "protos/shop/v1/shop.proto"
    shop.write_text(shop.read_text() + "message {\n")
    assert configure(folder.source, folder.build)[0] == 0, "it does not configure"
    code, text = run("cmake", "--build", folder.build, "--target", "executable")
    assert code != 0 and "Expected message name." in text and "shop/v1/shop.proto:" in text


# The call's arguments, and what CMake must say.
MISTAKES = {
    "AMissingTargetIsNamed": ("PROTOS x.proto", "TARGET is missing"),
    "MocksNeedTheClassesThatTheyMock": ("TARGET t PROTOS x.proto GRPC_MOCKS", "add GRPC, or take FAKES for Coracle's"),
    "MissingProtosAreNamed": ("TARGET t", "PROTOS is missing"),
    "AKeywordWithoutAValueIsNamed": ("TARGET t PROTOS", "nothing follows PROTOS"),
    "AnUnknownArgumentIsNamed": ("BLUE TARGET t PROTOS x.proto", "it does not know: BLUE"),
    "AnUnknownTargetIsNamed": ("TARGET u PROTOS x.proto", "there is no target u; add it before this call"),
    "AnAliasIsNotATarget": ("TARGET alias PROTOS x.proto", "alias is another name for t; give that one"),
    "ATargetOfAnotherDirectoryIsRefused": ("TARGET far PROTOS x.proto", "call coracle_generate there"),
    "ATargetThatCompilesNothingIsRefused": ("TARGET custom PROTOS x.proto", "neither a library nor an executable"),
    "AnUnknownUsageRequirementIsRefused":
        ("TARGET t PROTOS x.proto USAGE_REQUIREMENT public", "it can be PUBLIC, PRIVATE or INTERFACE"),
    "AnInterfaceLibraryCannotHideItsHeaders":
        ("TARGET interface PROTOS x.proto USAGE_REQUIREMENT PRIVATE", "would hide the headers from everybody"),
    "AMissingProtoIsNamed": ("TARGET t PROTOS y.proto", "there is no y.proto in"),
    "AProtoOutsideOfTheImportDirectoriesIsNamed":
        ("TARGET t PROTOS x.proto IMPORT_DIRS far", "x.proto lies in no import directory"),
    "TheSameProtoTwiceNeedsTwoPlaces": ("TARGET t PROTOS x.proto x.proto", "give one of them another OUT_DIR"),
    "AMissingPluginIsNamed": ("TARGET t PROTOS x.proto PLUGIN nowhere", "there is no nowhere"),
    "AModuleNeedsThatOfTheLibrary": ("TARGET t PROTOS x.proto MODULE x", "MODULE needs find_package(coracle) before it"),
    "GrpcMustHaveBeenFound": ("TARGET t PROTOS x.proto GRPC", "GRPC needs find_package(gRPC CONFIG) before it"),
}


@pytest.mark.parametrize(("arguments", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_explained(arguments, said, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "x.proto").write_text('syntax = "proto3";\n')
    (tmp_path / "far/CMakeLists.txt").write_text("add_library(far STATIC far.cpp)\n")
    # Without a language nothing is probed, which is most of the time that a configuration takes.
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(mistake NONE)\n"
        "include(${CORACLE_ROOT}/cmake/coracle_generate.cmake)\nadd_subdirectory(far)\n"
        "add_library(t STATIC t.cpp)\nadd_library(alias ALIAS t)\nadd_library(interface INTERFACE)\n"
        f"add_custom_target(custom)\ncoracle_generate({arguments})\n")
    code, text = configure(tmp_path, tmp_path / "build")
    text = " ".join(text.split())
    assert code != 0 and "coracle_generate: " in text
    assert said in text
