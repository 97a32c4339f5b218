"""What protoc-gen-coracle and its headers say when something is wrong: a line that names the fix."""

import pytest

from plugin import GOLDEN, plugin, run
from programs import ROOT, own

SERVICE = 'syntax = "proto3"; package p; message M {} service S { rpc Do(M) returns (M); }\n'
OPTIONS = "options: namespace=NAME"


def imported(package, text):
    """A file of another package, and one with SERVICE that imports it."""
    return {"beside.proto": f'syntax = "proto3"; package {package}; {text}\n',
            "t.proto": SERVICE.replace("package p;", 'package p; import public "beside.proto";')}


def renamed(service, files):
    """The same with another name of the service."""
    return {name: text.replace("service S ", f"service {service} ") for name, text in files.items()}


# name: the .proto or files by their names, --coracle_opt, what protoc must say
REFUSED = {
    "AnUnknownOptionIsNamedAndTheOptionsAreListed":
        (SERVICE, "colour=red", ("t.proto: unknown option \"colour\"", OPTIONS)),
    "AnInnerNamespaceMustHaveAName": (SERVICE, "namespace=", ('"" is not a valid C++ namespace', OPTIONS)),
    "AnInnerNamespaceIsAnIdentifier": (SERVICE, "namespace=a-b", ('"a-b" is not a valid C++ namespace', OPTIONS)),
    "AnInnerNamespaceIsNoKeyword": (SERVICE, "namespace=a::new", ('"a::new" is not a valid C++ namespace', OPTIONS)),
    "AWirePackageHasAName": (SERVICE, "wire_package=", ('"" is not a valid package name', OPTIONS)),
    "AWirePackageIsWrittenWithDots": (SERVICE, "wire_package=a::b", ('"a::b" is not a valid package name', OPTIONS)),
    "AModuleHasAName": (SERVICE, "module=", ('"" is not a valid name of a C++ module', OPTIONS)),
    "AModuleIsNotAWordOfCpp": (SERVICE, "module=a.new", ('"a.new" is not a valid name of a C++ module', OPTIONS)),
    "APartitionHasAName": (SERVICE, "module=a:", ('"a:" is not a valid name of a C++ module', OPTIONS)),
    "FakesAreWantedOrNot": (SERVICE, "fakes=maybe", ('"maybe" is neither true nor false', OPTIONS)),
    "AMessageMayNotStandWhereTheInnerNamespaceWouldBe":
        (SERVICE + "message rpc {}\n", None, ("p.rpc already has that name", "namespace=NAME")),
    "AnEnumValueMayNotEither":
        (SERVICE + "enum E { wire = 0; }\n", "namespace=wire::v1", ("p.wire already has that name", "namespace=NAME")),
    "NorAtAnyLevelOfANestedInnerNamespace":
        (imported("p.wire", "message v1 {}"), "namespace=wire::v1", ("p.wire.v1 already has that name", "namespace=NAME")),
    "AMessageOfAnotherPackageMayNotHaveTheNameOfAServicesClass":
        (imported("p.rpc", "message S {}"), None,
         ("the service p.S cannot have the class rpc::S", "p.rpc.S already has that name", "namespace=NAME")),
    "AnEnumOfAnotherPackageMayNotEither":
        (imported("p.rpc", "enum S { ZERO = 0; }"), None, ("p.rpc.S already has that name", "namespace=NAME")),
    "APackageMayNotHaveTheNameOfAServicesClass":
        (imported("p.rpc.S", "message Other {}"), None, ("p.rpc.S already has that name", "namespace=NAME")),
    "AMessageOfAnotherPackageMayNotHaveTheNameOfAFake":
        (imported("p.rpc", "message SFake {}"), "fakes=true", ("p.rpc.SFake already has that name", "namespace=NAME")),
    "AMessageWithinAMessageMayNotHaveTheNameOfAServicesClassInCpp":
        (renamed("S_T", imported("p.rpc", "message S { message T {} }")), None,
         ("the service p.S_T cannot have the class rpc::S_T", "p.rpc.S.T already has that name in C++", "namespace=NAME")),
    "AMessageWithinSeveralMayNotEither":
        (renamed("S_T_U", imported("p.rpc", "message S { message T { message U {} } }")), None,
         ("p.rpc.S.T.U already has that name in C++", "namespace=NAME")),
    "AnEnumWithinAMessageMayNotEither":
        (renamed("S_E", imported("p.rpc", "message S { enum E { ZERO = 0; } }")), None, ("p.rpc.S.E already has that name in C++",)),
    "AValueOfAnEnumWithinAMessageMayNotEither":
        (renamed("S_E_ZERO", imported("p.rpc", "message S { enum E { ZERO = 0; } }")), None, ("already has that name in C++", "ZERO")),
    "AMessageWithinAMessageMayNotHaveTheNameOfAFakeInCpp":
        (renamed("S_T", imported("p.rpc", "message S { message TFake {} }")), "fakes=true",
         ("rpc::S_TFake", "p.rpc.S.TFake already has that name in C++")),
    "AMessageWithinAMessageMayNotHaveTheNameOfTheInnerNamespaceInCpp":
        (SERVICE + "message A { message B {} }\n", "namespace=A_B", ("p.A.B already has that name in C++", "namespace=NAME")),
    "AMessageOfAnImportsImportMayNotHaveTheNameOfAServicesClassInCpp":
        (renamed("S_T", {**imported("q", 'import "further.proto";'),
                         "further.proto": 'syntax = "proto3"; package p.rpc; message S { message T {} }\n'}), None,
         ("p.rpc.S.T already has that name in C++",)),
    "ThePackageOfTheLibraryIsReserved":
        (SERVICE.replace("package p;", "package coracle;"), None,
         ("the package coracle is reserved", "namespace=NAME", "wire_package=coracle")),
    "ThePackageOfTheLibraryIsReservedWhateverTheInnerNamespace":
        (SERVICE.replace("package p;", "package coracle;"), "namespace=other", ("the package coracle is reserved",)),
    "PackagesWithinThatOfTheLibraryAreReserved":
        (SERVICE.replace("package p;", "package coracle.net;"), None, ("wire_package=coracle.net",)),
    "ThePackageOfTheLibraryIsReservedAlsoWithoutServices":
        ('syntax = "proto3"; package coracle; message M {}\n', None, ("the package coracle is reserved",)),
    "TheNamespaceOfTheLibraryIsReserved":
        (SERVICE.replace("package p; ", ""), "namespace=coracle::mine",
         ("coracle is the namespace of the library", "namespace=NAME")),
    "ABrokenProtoGetsProtocsOwnLine": (SERVICE + "message {\n", None, ("t.proto:2:9: Expected message name.",)),
}
ACCEPTED = {
    "AMessageMayHaveTheNameOfTheInnerNamespaceWhereThereIsNoService":
        ('syntax = "proto3"; package p; message rpc {}\n', None),
    "TheLastNamespaceOptionCounts": (SERVICE, "namespace=a,namespace=b"),
    "AnotherInnerNamespaceEndsAClash": (imported("p.rpc", "message S {}"), "namespace=wire"),
    "AMessageMayHaveTheNameOfAFakeThatIsNotMade": (imported("p.rpc", "message SFake {}"), None),
    "AMessageWithinAMessageMayHaveTheNameOfAServicesClassInAnotherNamespace":
        (renamed("S_T", imported("p.other", "message S { message T {} }")), None),
    "AMessageWithinAMessageMayHaveTheNameOfAServiceThatIsNoClassBesideIt":
        (renamed("S_T", imported("p", "message S { message T {} }")), None),
    "AServiceOfAnotherPackageMayHaveTheNameOfAServicesClass":
        (imported("p.rpc", "message M {} service S { rpc Do(M) returns (M); }"), None),
    "TheReservedPackageMayStayOnTheWire": (SERVICE, "wire_package=coracle"),
    "APackageMayBeginLikeTheReservedOne": (SERVICE.replace("package p;", "package coracles.coracle;"), None),
}


def generate(out, proto, options):
    for name, text in (proto if isinstance(proto, dict) else {"t.proto": proto}).items():
        (out / name).write_text(text)
    return run(["protoc", f"-I{out}", plugin(), f"--coracle_out={out}",
                *([f"--coracle_opt={options}"] if options else []), "t.proto"])


@pytest.mark.parametrize(("proto", "options", "said"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused(proto, options, said, tmp_path):
    result = generate(tmp_path, proto, options)
    assert result.returncode != 0, "protoc accepts it"
    assert len(result.stderr.strip().splitlines()) == 1, f"not one line but: {result.stderr.strip()!r}"
    for words in said:
        assert words in result.stderr


@pytest.mark.parametrize(("proto", "options"), ACCEPTED.values(), ids=ACCEPTED)
def test_it_is_accepted(proto, options, tmp_path):
    result = generate(tmp_path, proto, options)
    assert result.returncode == 0, result.stderr


def test_every_use_of_what_is_deprecated_is_warned_of_and_nothing_else(tmp_path):
    run(["protoc", f"-I{GOLDEN}", f"--cpp_out={tmp_path}", GOLDEN / "deprecated.proto"])
    source = tmp_path / "use.cpp"
    source.write_text(
        '#include "deprecated.coracle.hpp"\n'
        "struct served final : golden::deprecated::rpc::Wholly::service {};\n"
        "void use(coracle::channel channel, const golden::deprecated::Once& once) {\n"
        "  golden::deprecated::rpc::Partly::stub partly(channel);\n"
        "  (void)partly.Current({});\n"
        "  (void)partly.Former(once);\n"
        "  golden::deprecated::rpc::Wholly::stub wholly(channel);\n"
        "}\n")
    result = run(["g++", "-std=c++20", "-Wall", "-Wextra", "-fsyntax-only", "-I", GOLDEN, "-I", ROOT / "include",
                  "-isystem", tmp_path, source])
    warned = sorted({line.split(":")[1] for line in result.stderr.splitlines() if "-Wdeprecated-declarations" in line})
    others = [line for line in result.stderr.splitlines()
              if ("warning:" in line or "error:" in line) and "use.cpp" not in line]
    assert not others
    assert warned == ["6", "7"], "the lines that are warned of"


@pytest.mark.parametrize(("argument", "said"), [("--version", "codegen contract"), ("--help", OPTIONS)])
def test_the_plugin_explains_itself(argument, said):
    result = run([own("protoc-gen-coracle"), argument])
    assert result.returncode == 0 and said in result.stdout, f"it says {result.stdout + result.stderr!r}"
