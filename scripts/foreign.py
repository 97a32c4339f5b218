#!/usr/bin/env python3
"""grpc++'s own tests of its public API, against Debian's grpc++ and against coracle::grpcpp: ./dev foreign grpcpp [TEST] [CASES]

They come from Debian's source package and stay below build/foreign; what they include from inside of grpc is tests/foreign/grpcpp/shims.h.
Each case runs with both libraries. What passes with grpc++ alone must be in tests/foreign/grpcpp/differences.txt, and nothing else may be.
Programs are built and run one after another. What has run is kept below build/foreign until its program changes, so that the command may be
interrupted and goes on where it was.
"""

import argparse
import concurrent.futures
import fnmatch
import functools
import json
import os
import pathlib
import re
import selectors
import shlex
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
OWN = ROOT / "tests/foreign/grpcpp"
BUILD = ROOT / "build/foreign"
WORK = BUILD / "grpcpp"
RELEASE = ROOT / "build/release"
DIFFERENCES = OWN / "differences.txt"
REFUSALS = "grpcpp/impl/one_library.h"
CASE_TIMEOUT_S = 60
CASES_AT_ONCE = 40
TRIES = 3

COMMON = ["util/string_ref_helper", "util/test_credentials_provider", "util/create_test_channel", "util/test_config_cc",
          "util/byte_buffer_proto_helper", "end2end/test_service_impl"]
# The tests of the public API, with what they need beside COMMON.
TESTS = {
    "end2end/async_end2end_test": [],
    "end2end/client_callback_end2end_test": ["end2end/interceptors_util"],
    "end2end/client_crash_test": ["util/subprocess"],
    "end2end/client_interceptors_end2end_test": ["end2end/interceptors_util"],
    "end2end/context_allocator_end2end_test": [],
    "end2end/delegating_channel_test": [],
    "end2end/end2end_test": ["end2end/interceptors_util"],
    "end2end/exception_test": [],
    "end2end/generic_end2end_test": [],
    "end2end/health_service_end2end_test": ["end2end/test_health_check_service_impl"],
    "end2end/hybrid_end2end_test": [],
    "end2end/message_allocator_end2end_test": [],
    "end2end/mock_test": [],
    "end2end/nonblocking_test": [],
    "end2end/proto_server_reflection_test": ["util/proto_reflection_descriptor_database"],
    "end2end/raw_end2end_test": [],
    "end2end/server_builder_plugin_test": [],
    "end2end/server_crash_test": ["util/subprocess"],
    "end2end/server_early_return_test": [],
    "end2end/server_interceptors_end2end_test": ["end2end/interceptors_util"],
    "end2end/shutdown_test": [],
    "end2end/streaming_throughput_test": [],
    "end2end/thread_stress_test": [],
    "end2end/tls_key_export_test": [],
    "server/credentials_test": ["util/tls_test_utils"],
    "server/server_builder_test": [],
    "server/server_request_call_test": [],
    "security/tls_certificate_verifier_test": ["util/tls_test_utils"],
    "util/byte_buffer_test": [],
    "util/cli_call_test": ["util/cli_call"],
    "util/error_details_test": [],
    "util/grpc_tool_test": ["util/cli_call", "util/cli_credentials", "util/grpc_tool", "util/proto_file_parser",
                            "util/proto_reflection_descriptor_database", "util/service_describer"],
    "util/slice_test": [],
    "util/string_ref_test": [],
    "util/time_test": [],
    "common/alarm_test": [],
    "codegen/codegen_test_full": [],
    "codegen/codegen_test_minimal": [],
    "test/client_context_test_peer_test": [],
    "test/mock_stream_test": [],
    "test/server_context_test_spouse_test": [],
}
# Programs that tests start, by the names that these look for beside themselves.
PROGRAMS = {"end2end/client_crash_test_server": "client_crash_test_server", "end2end/server_crash_test_client": "server_crash_test_client"}
PROTOS = ["testing/echo", "testing/echo_messages", "testing/simple_messages", "testing/xds/v3/orca_load_report", "testing/duplicate/echo_duplicate",
          "health/v1/health", "reflection/v1alpha/reflection", "status/status", "channelz/channelz"]
SERVICES = ["testing/echo", "testing/duplicate/echo_duplicate", "health/v1/health", "reflection/v1alpha/reflection"]
# Messages that grpc++'s libraries have inside, and that may not be in a program twice.
WITHIN_GOOGLE = ["reflection/v1alpha/reflection", "channelz/channelz"]
LIBRARIES = {"google": "grpc++", "coracle": "coracle::grpcpp"}
ABSL = "absl_base absl_flags absl_flags_parse absl_memory absl_status absl_strings absl_str_format absl_synchronization absl_optional"


def fail(text):
    sys.exit(f"foreign: {text}")


def output_of(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        fail(f"{shlex.join(map(str, command))}: {done.stdout.strip()[-2000:]}")
    return done.stdout.strip()


# --- the source


def source():
    """The unpacked source of Debian's grpc. Apt's configuration and lists are our own, so that the machine's stay as they are."""
    found = sorted(BUILD.glob("grpc-1.*/test/cpp"))
    if found:
        return found[0].parents[1]
    print("foreign: fetching Debian's source package of grpc", flush=True)
    release = re.search(r"^VERSION_CODENAME=(.+)$", pathlib.Path("/etc/os-release").read_text(), re.M)
    archives = [line.split() for line in output_of("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(COMPONENT)",
                                                   "Created-By: Packages").splitlines()]
    site = next((site for site, name, component in archives if release and name == release[1] and component == "main"), None)
    if not site:
        fail("apt knows no archive with this release of Debian; add it to /etc/apt/sources.list")
    apt = BUILD / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (apt / "sources.list").write_text(f"deb-src [signed-by={key}] {site} {release[1]} main\n")
    (apt / "apt.conf").write_text(f'Dir::Etc::SourceList "{apt}/sources.list";\nDir::Etc::SourceParts "/dev/null";\n'
                                  f'Dir::State::Lists "{apt}/lists";\nDir::Cache "{apt}/cache";\nAPT::Get::Only-Source "true";\n'
                                  f'APT::Sandbox::User "root";\n')
    env = {**os.environ, "APT_CONFIG": str(apt / "apt.conf")}
    output_of("apt-get", "-q", "update", env=env)
    output_of("apt-get", "-q", "source", "--download-only", "grpc", env=env, cwd=BUILD)
    packed = sorted(BUILD.glob("grpc_*.orig.tar.gz"))
    if not packed:
        fail("apt-get source grpc brought no grpc_*.orig.tar.gz")
    output_of("tar", "xzf", packed[0], "-C", BUILD)
    return source()


# --- the build


def name_of(test):
    """The last part of its path, or both where two have the same."""
    last = pathlib.PurePath(test).name
    return last if [pathlib.PurePath(other).name for other in TESTS].count(last) <= 1 else test.replace("/", "_")


def stems_of(test):
    return [test, *COMMON, *TESTS[test]]


def write_stubs(grpc):
    """For each header from inside of grpc that the sources name, one that includes the shims."""
    stems = {stem for test in TESTS for stem in stems_of(test)} | set(PROGRAMS)
    files = [grpc / f"test/cpp/{stem}.cc" for stem in stems] + sorted((grpc / "test/cpp").glob("*/*.h"))
    for file in files:
        for name in re.findall(r'#include "((?:src/core|src/cpp|test/core)/[^"]+)"', file.read_text()):
            write_if_changed(WORK / "stubs" / name, '#include "shims.h"\n')
    # What coracle::grpcpp refuses compiles here, so that a file is not lost with the case that uses it: such a case crashes.
    marked = (ROOT / f"adapters/grpcpp/include/{REFUSALS}").read_text()
    unmarked = re.sub(r"(#define CORACLE_GRPCPP_MISSING\(text\)).*", r"\1", marked)
    write_if_changed(WORK / "unmarked" / REFUSALS, unmarked)
    tree = WORK / "tree/test"
    tree.mkdir(parents=True, exist_ok=True)
    if not (tree / "cpp").exists():
        (tree / "cpp").symlink_to(grpc / "test/cpp")


def write_if_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def packages(*arguments, **options):
    return output_of("pkg-config", *arguments, **options)


def flags_of(library):
    gmock = packages("--libs", "gmock", "gtest", "gtest_main")
    absl = packages("--libs", *ABSL.split())
    if library == "google":
        return [], f"-lgrpc++_reflection -lgrpc++_error_details -lgrpcpp_channelz -lgrpc++ -lgrpc -lgpr -lprotobuf {gmock} {absl} -lssl -lcrypto"
    ours = packages("--libs", "--static", f"--define-variable=libdir={RELEASE / 'lib'}", "coracle-tls",
                    env={**os.environ, "PKG_CONFIG_PATH": str(RELEASE)})
    headers = [WORK / "unmarked", ROOT / "adapters/grpcpp/include", RELEASE / "adapters/grpcpp/include"]
    return headers, f"-no-pie -Wl,--warn-unresolved-symbols -L{RELEASE / 'lib'} -lcoracle_grpcpp {ours} {gmock} {absl}"


def compiler():
    """Clang, which is quicker than GCC without optimisation."""
    return os.environ.get("CXX") or "clang++-19"


def write_ninja(grpc):
    lines = [f"cxx = {compiler()}",
             # NDEBUG: without it, cases look for the lines of grpc's own source in the texts of errors.
             "flags = -std=c++17 -O0 -w -pthread -DNDEBUG -DGTEST_HAS_ABSL=0",
             "rule proto", "  command = protoc -I $proto_root --cpp_out=$out_root --grpc_out=generate_mock_code=true:$out_root "
             "--plugin=protoc-gen-grpc=`command -v grpc_cpp_plugin` $in", "  description = protoc $in",
             "rule cxx", "  command = $cxx $flags $includes $pch -MMD -MF $out.d -c $in -o $out", "  depfile = $out.d", "  deps = gcc",
             "  description = $cxx $out",
             "rule pch", "  command = $cxx $flags $includes -MMD -MF $out.d -x c++-header $in -o $out", "  depfile = $out.d", "  deps = gcc",
             "rule link", "  command = $cxx -pthread $in $libs -o $out", "  description = link $out"]
    generated = WORK / "generated"
    headers = []
    for proto in PROTOS:
        stem = generated / "src/proto/grpc" / proto
        outputs = [f"{stem}{ending}" for ending in (".pb.cc", ".pb.h", ".grpc.pb.cc", ".grpc.pb.h")]
        headers += [outputs[1], outputs[3]]
        lines += [f"build {' '.join(outputs)}: proto {grpc}/src/proto/grpc/{proto}.proto", f"  proto_root = {grpc}", f"  out_root = {generated}"]
    lines.append(f"build headers: phony {' '.join(headers)}")
    neutral = {}  # what knows neither library: messages, and the certificates of the tests
    plain = [(proto, f"{generated}/src/proto/grpc/{proto}.pb.cc") for proto in PROTOS]
    for name, path in plain + [(path.stem, path) for path in sorted((grpc / "test/core/end2end/data").glob("*.cc"))]:
        neutral[name] = WORK / "neutral" / f"{name}.o"
        lines += [f"build {neutral[name]}: cxx {path} || headers", f"  includes = -I{generated}"]
    for library in LIBRARIES:
        folder = WORK / library
        api, libs = flags_of(library)
        includes = " ".join(f"-I{path}" for path in [*api, WORK / "stubs", WORK / "tree", generated, OWN])
        inputs = [path for path in RELEASE.glob("lib/libcoracle*.a")] if library == "coracle" else []
        pch = folder / "all.h.pch"
        lines += [f"build {pch}: pch {OWN / 'all.h'} || headers", f"  includes = {includes}"]

        def compile_object(source_path, name):
            lines.extend([f"build {folder / name}.o: cxx {source_path} | {pch} || headers", f"  includes = {includes}", f"  pch = -include-pch {pch}"])
            return f"{folder / name}.o"

        generated_objects = [compile_object(f"{generated}/src/proto/grpc/{proto}.grpc.pb.cc", f"services/{proto}") for proto in SERVICES]
        generated_objects += [path for name, path in neutral.items() if library != "google" or name not in WITHIN_GOOGLE]
        extra = [compile_object(ROOT / "adapters/grpcpp/linked_reflection.cpp", "linked_reflection")] if library == "coracle" else []
        objects = {}
        for stem in sorted({stem for test in TESTS for stem in stems_of(test)} | set(PROGRAMS)):
            objects[stem] = compile_object(grpc / f"test/cpp/{stem}.cc", stem)
        for program in [*TESTS, *PROGRAMS]:
            stems = stems_of(program) if program in TESTS else [program, *COMMON]
            parts = [objects[stem] for stem in stems] + generated_objects + extra
            lines += [f"build {folder}/bin/{name_of(program)}: link {' '.join(map(str, parts))} | {' '.join(map(str, inputs))}",
                      f"  libs = {libs}"]
    write_if_changed(WORK / "build.ninja", "\n".join(lines) + "\n")


def prepare():
    grpc = source()
    write_stubs(grpc)
    write_ninja(grpc)


def build(test, jobs):
    names = [name_of(test)] + (list(PROGRAMS.values()) if "util/subprocess" in TESTS[test] else [])
    wanted = [f"{WORK}/{library}/bin/{name}" for name in names for library in LIBRARIES]
    with open(build_log(test), "w") as log:
        subprocess.run(["ninja", "-k", "0", "-j", str(jobs), *wanted], cwd=WORK, stdout=log, stderr=subprocess.STDOUT)


def build_log(test):
    (WORK / "logs").mkdir(parents=True, exist_ok=True)
    return WORK / "logs" / f"{name_of(test)}.build.log"


# --- the runs

ANSI = re.compile(r"\x1b\[[0-9;]*m")
RESULT = re.compile(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] (\S+?)(?:,| \(|$)")


def binary(library, test):
    return WORK / library / "bin" / name_of(test)


def environment():
    return {**os.environ, "GTEST_COLOR": "no"}


def cases_of(path):
    """Names of the cases, in their order; an empty list of a program that is not a GoogleTest."""
    try:
        done = subprocess.run([path, "--gtest_list_tests"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, env=environment(),
                              cwd=source())
    except subprocess.TimeoutExpired:
        return []
    cases, suite = [], ""
    for line in done.stdout.splitlines():
        name = line.split("#")[0].rstrip()
        if not name.startswith(" "):
            suite = name if name.endswith(".") else ""
        elif suite:
            cases.append(suite + name.strip())
    return list(dict.fromkeys(cases))  # some programs run their cases several times, and list them as often


def run_some(path, cases, log):
    """Runs cases in one process, up to the first that crashes or hangs: a dictionary of verdicts, maybe not of all."""
    verdicts, running, text = {}, None, []
    process = subprocess.Popen([path, "--gtest_filter=" + ":".join(cases)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=environment(), cwd=source(), start_new_session=True)
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    deadline, buffer, hung = time.monotonic() + CASE_TIMEOUT_S, b"", False
    while True:
        if not selector.select(max(0, deadline - time.monotonic())):
            hung = True
            break
        piece = os.read(process.stdout.fileno(), 65536)
        if not piece:
            break
        *whole, buffer = (buffer + piece).split(b"\n")
        for line in (ANSI.sub("", one.decode(errors="replace")) for one in whole):
            text.append(line)
            found = RESULT.match(line)
            if not found or found[2] not in cases:
                continue
            if found[1] == "RUN":
                running, text, deadline = found[2], [line], time.monotonic() + CASE_TIMEOUT_S
            elif running == found[2]:
                verdicts[running] = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[found[1]]
                if verdicts[running] == "failed":
                    write_log(log, running, text)
                running = None
    try:
        os.killpg(process.pid, signal.SIGKILL if hung else signal.SIGTERM)
    except ProcessLookupError:
        pass
    process.stdout.close()
    process.wait()
    if running:
        verdicts[running] = "hangs" if hung else "crashes"
        write_log(log, running, [*text, buffer.decode(errors="replace"), f"ended with {process.returncode}"])
    elif len(verdicts) < len(cases):
        # Ended between two cases, or before the first: the next one is to blame.
        following = next(case for case in cases if case not in verdicts)
        verdicts[following] = "hangs" if hung else "crashes"
        write_log(log, following, [*text, f"ended with {process.returncode}"])
    return verdicts


def write_log(folder, case, lines):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (case.replace("/", "_") + ".log")).write_text("\n".join(lines[-400:]) + "\n")


def run_batch(library, test, cases):
    path, log, verdicts = binary(library, test), WORK / "logs" / library / name_of(test), {}
    for case in cases:
        (log / (case.replace("/", "_") + ".log")).unlink(missing_ok=True)
    while len(verdicts) < len(cases):
        verdicts |= run_some(path, [case for case in cases if case not in verdicts], log)
    for case, verdict in verdicts.items():  # a machine with other work makes cases fail that measure time
        for _ in range(1 if verdict == "hangs" else TRIES - 1):
            if verdict in ("passed", "skipped"):
                break
            verdict = run_some(path, [case], log)[case]
        verdicts[case] = verdict
    return verdicts


def run(test, pattern, jobs, again):
    """{library: {case: verdict}}. Runs what has no verdict of this program yet, and everything if `again`."""
    listed = cases_of(binary("google", test)) if binary("google", test).exists() else []
    cases = [case for case in listed if not pattern or fnmatch.fnmatchcase(case, pattern)]
    results, batches, kept = {}, [], {}
    for library in LIBRARIES:
        if not binary(library, test).exists():
            results[library] = {case: "does not build" for case in cases or ["(all)"]}
            continue
        kept[library] = kept_verdicts(library, test)
        results[library] = {case: kept[library][case] for case in cases if case in kept[library] and not again}
        wanted = [case for case in cases if case not in results[library]]
        batches += [(library, test, wanted[first:first + CASES_AT_ONCE]) for first in range(0, len(wanted), CASES_AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(run_batch, *batch): batch for batch in batches}
        for done in concurrent.futures.as_completed(running):
            library, _, cases = running[done]
            verdicts = done.result()
            results[library].update(verdicts)
            kept[library].update(verdicts)
            keep_verdicts(library, test, kept[library])
            bad = sum(verdict not in ("passed", "skipped") for verdict in verdicts.values())
            print(f"  {LIBRARIES[library]:16} {name_of(test)}: {len(cases)} cases" + (f", {bad} not passed" if bad else ""), flush=True)
    return results


def verdicts_file(library, test):
    return WORK / "verdicts" / library / f"{name_of(test)}.json"


def program_stamp(library, test):
    status = binary(library, test).stat()
    return [status.st_mtime_ns, status.st_size]


def kept_verdicts(library, test):
    file = verdicts_file(library, test)
    kept = json.loads(file.read_text()) if file.exists() else {}
    return kept["verdicts"] if kept.get("program") == program_stamp(library, test) else {}


def keep_verdicts(library, test, verdicts):
    write_if_changed(verdicts_file(library, test), json.dumps({"program": program_stamp(library, test), "verdicts": verdicts}, indent=1))


# --- the differences


def listed_differences():
    """[(test, pattern, number, reason)] of the list."""
    entries = []
    for line in DIFFERENCES.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            test, pattern, number, reason = line.split(None, 3)
            entries.append((test, pattern, int(number), reason))
    return entries


def differing(results):
    """{(test, case): verdict} of what passes with grpc++ alone."""
    return {(test, case): of["coracle"].get(case, "does not run") for test, of in results.items() for case, verdict in of["google"].items()
            if verdict == "passed" and of["coracle"].get(case) != "passed"}


def report(results, whole):
    print(f"\n{'':34}{'cases':>7}{'grpc++':>9}{'coracle':>9}{'differ':>8}")
    differences = differing(results)
    sums = [0, 0, 0, 0]
    for test, of in results.items():
        row = [len(of["google"])] + [sum(verdict == "passed" for verdict in of[library].values()) for library in LIBRARIES]
        row.append(sum(test == name for name, _ in differences))
        sums = [one + other for one, other in zip(sums, row)]
        print(f"{test:34}{row[0]:7}{row[1]:9}{row[2]:9}{row[3]:8}")
    print(f"{'all':34}{sums[0]:7}{sums[1]:9}{sums[2]:9}{sums[3]:8}\n")
    faults, explained = [], set()
    for test, of in results.items():
        if "does not build" in of["google"].values():
            faults.append(f"{test} does not build with grpc++, which is a fault of the shims; see build/foreign/grpcpp/logs/{test}.build.log")
    for test, pattern, number, reason in listed_differences():
        if test not in results:
            continue
        met = {key for key in differences if key[0] == test and fnmatch.fnmatchcase(key[1], pattern)}
        explained |= met
        if whole and len(met) != number:
            faults.append(f"differences.txt says {number} of {test} {pattern}, but it is {len(met)}"
                          + (": shorten the list" if len(met) < number else ""))
    unexplained = {}  # by what the cases of a parameterized test have in common
    for (test, case), verdict in sorted(differences.items()):
        if (test, case) not in explained:
            suite, _, name = case.rpartition(".")
            unexplained.setdefault((test, f"{suite}.{name.partition('/')[0]}" + ("/*" if "/" in name else ""), verdict), []).append(case)
    for (test, pattern, verdict), cases in unexplained.items():
        faults.append(f"{test} {pattern}: {len(cases)} {verdict}, and pass with grpc++")
    if unexplained:
        faults.append("their logs are below build/foreign/grpcpp/logs/coracle")
    for line in faults:
        print(f"foreign: {line}")
    print(f"foreign: {len(differences)} of {sums[1]} cases differ, {len(explained)} of them for a listed reason")
    return not faults


def main():
    parser = argparse.ArgumentParser(prog="./dev foreign", description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=["grpcpp"])
    parser.add_argument("test", nargs="?", help="one test, such as end2end_test; all without it")
    parser.add_argument("cases", nargs="?", help="a pattern of its cases, such as '*Reconnect*'")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="compilers and programs at the same time (default: one a core)")
    parser.add_argument("--again", action="store_true", help="also run what has run with the same program")
    asked = parser.parse_args()
    tests = [test for test in TESTS if asked.test in (None, name_of(test))]
    if not tests:
        fail(f"there is no test '{asked.test}'; there are {', '.join(sorted(name_of(test) for test in TESTS))}")
    WORK.mkdir(parents=True, exist_ok=True)
    prepare()
    results = {}
    for test in tests:
        build(test, asked.jobs)
        results[name_of(test)] = run(test, asked.cases, asked.jobs, asked.again)
    sys.exit(0 if report(results, whole=asked.cases is None) else 1)


if __name__ == "__main__":
    main()
