#!/usr/bin/env python3
"""Drives coracle_generate() as other projects do: all kinds of targets, both generators, changes, and mistakes.

The library itself is replaced by its headers: nothing here calls into it.
"""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = pathlib.Path(__file__).resolve().parent / "generate"
BUILD = pathlib.Path(os.environ.get("CORACLE_BUILD_DIR") or ROOT / "build/release")
PLUGIN = BUILD / "bin/protoc-gen-coracle"
SCRATCH = BUILD / "consume-generate"

# Makefiles have to show their dependencies; what a kind of target needs, Ninja has shown.
PROGRAMS = {
    "Ninja": ("executable", "uses_static", "uses_object", "uses_interface", "uses_shared", "uses_private",
              "uses_late", "uses_names"),
    "Unix Makefiles": ("executable", "uses_interface"),
}


class Wrong(Exception):
    """What a case found wrong."""


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return result.returncode, result.stdout + result.stderr


def succeed(*command):
    code, text = run(*command)
    if code != 0:
        reasons = [line.strip() for line in text.splitlines() if "error" in line.lower()]
        raise Wrong((reasons or text.splitlines() or ["no reason"])[0])
    return text


def configure(source, build, generator="Ninja", *more):
    return run("cmake", "-S", source, "-B", build, "-G", generator, f"-DCORACLE_PLUGIN={PLUGIN}",
               f"-DCORACLE_ROOT={ROOT}", "-DCMAKE_CXX_COMPILER=g++",
               f"-DCMAKE_CXX_COMPILER_LAUNCHER={shutil.which('ccache') or ''}", *more)


def project(name):
    """A copy of the sources, to be changed at will."""
    folder = SCRATCH / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCES, folder / "source")
    return folder / "source", folder / "build"


def built(name, generator):
    source, build = project(name)
    code, text = configure(source, build, generator)
    if code != 0:
        raise Wrong(text.strip().splitlines()[-1])
    succeed("cmake", "--build", build, "--parallel", "--target", *PROGRAMS[generator])
    return build


def every_kind_of_target(generator):
    build = built(generator.split()[0].lower(), generator)
    for program in PROGRAMS[generator]:
        succeed(build / "bin" / program)
    again = succeed("cmake", "--build", build, "--target", *PROGRAMS[generator])
    if "Generating" in again or "Building" in again:
        raise Wrong("a second build builds again")
    if not (build / "generated/executable/shop/v1/shop.protoset").exists():
        raise Wrong("GENERATE_DESCRIPTORS wrote no shop.protoset")


def a_change_to_an_import(generator):
    folder = SCRATCH / generator.split()[0].lower()
    source, build = folder / "source", folder / "build"
    item = source / "protos/shop/v1/item.proto"
    item.write_text(item.read_text().replace("string name = 1;", "string name = 1;\n  int32 weight_g = 9;"))
    text = succeed("cmake", "--build", build, "--target", "executable")
    for name in ("item", "shop"):
        if f"Generating C++ from shop/v1/{name}.proto" not in text:
            raise Wrong(f"{name}.proto is not generated again")
    if "weight_g" not in (build / "generated/executable/shop/v1/item.pb.h").read_text():
        raise Wrong("the change did not reach item.pb.h")


def a_broken_proto():
    source, build = project("broken")
    shop = source / "protos/shop/v1/shop.proto"
    shop.write_text(shop.read_text() + "message {\n")
    if configure(source, build)[0] != 0:
        raise Wrong("it does not configure")
    code, text = run("cmake", "--build", build, "--target", "executable")
    if code == 0 or "Expected message name." not in text or "shop/v1/shop.proto:" not in text:
        raise Wrong("the build does not stop with protoc's line")


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
    "GrpcMustHaveBeenFound": ("TARGET t PROTOS x.proto GRPC", "GRPC needs find_package(gRPC CONFIG) before it"),
}


def a_mistake(arguments, said):
    folder = SCRATCH / "mistake"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "far").mkdir(parents=True)
    (folder / "x.proto").write_text('syntax = "proto3";\n')
    (folder / "far/CMakeLists.txt").write_text("add_library(far STATIC far.cpp)\n")
    # Without a language nothing is probed, which is most of the time that a configuration takes.
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(mistake NONE)\n"
        "include(${CORACLE_ROOT}/cmake/coracle_generate.cmake)\nadd_subdirectory(far)\n"
        "add_library(t STATIC t.cpp)\nadd_library(alias ALIAS t)\nadd_library(interface INTERFACE)\n"
        f"add_custom_target(custom)\ncoracle_generate({arguments})\n")
    code, text = configure(folder, folder / "build")
    text = " ".join(text.split())
    if code == 0 or "coracle_generate: " not in text or said not in text:
        raise Wrong(f"CMake does not say \"{said}\"")


def report(name, case, *arguments):
    try:
        case(*arguments)
    except Wrong as wrong:
        print(f"FAIL {name}: {wrong}", flush=True)
        return True
    print(f"PASS {name}", flush=True)
    return False


def main():
    if not PLUGIN.exists():
        print(f"FAIL generate: there is no {PLUGIN}; ./dev build release makes it")
        return 1
    failed = False
    for generator, program in zip(PROGRAMS, ("ninja", "make")):
        name = generator.replace(" ", "")
        if not shutil.which(program):
            print(f"SKIP EveryKindOfTargetUnder{name}: {program} is not installed")
            continue
        failed |= report(f"EveryKindOfTargetUnder{name}", every_kind_of_target, generator)
        failed |= report(f"AChangeToAnImportGeneratesAgainUnder{name}", a_change_to_an_import, generator)
    failed |= report("ABrokenProtoStopsTheBuildWithProtocsLine", a_broken_proto)
    for name, case in MISTAKES.items():
        failed |= report(name, a_mistake, *case)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
