"""The test matrix: which suites run on which build, in which order.

    quick   g++ release: unit and end to end once, structure, compile-fail, golden
    whole   that on both backends, then the sanitizers of both compilers, fuzzers, format, and other people's programs
    conformance   g++ release: other people's conformance suites alone
    consumers     g++ release: other projects use the library, by way of Conan and vcpkg, too
"""

import concurrent.futures
import ctypes
import functools
import os
import shutil
import subprocess

import peers
from builds import build
from cases import run_cases
from gtest import run_gtest, without_aslr
from outcome import Outcome
from process import BUILD, ROOT

CI = bool(os.environ.get("CI"))
TESTS_TIMEOUT_S = 300
SHARDS = 2 * (os.cpu_count() or 1)
SCRIPT_TIMEOUT_S = 300
CONSUME_TIMEOUT_S = 600  # builds the library anew, each in its way
# Seeds of the simulation, from 1 on, of each scenario: what two cores play in a minute; a sixth of that under
# ThreadSanitizer, for which a world has one thread.
SIM_SEEDS = {"release": 1000, "asan": 150, "tsan": 20}
# What io_uring refuses or lacks somewhere: names that tests/support/uring_faults.cpp gives to src/runtime/uring/.
# After a refusal nothing of it is left, and the library has to choose epoll by itself. What follows is the same for all:
# every test meets the first, a few the others.
URING_REFUSALS = ["setup_eperm", "setup_enosys", "setup_enomem", "enter_eperm", "no_wait_timeout",
                  "no_cancel_any"]
AFTER_ANY_REFUSAL = ["ChooseBackend.*", "Kernel/*", "*unary*", "*lifetime*"]
# Those that have nothing to do with each other, together.
URING_LACKS = ["smallest_ring", "tiny_queue", "no_deferred_work", "no_buffer_ring", "no_multishot_receive",
               "no_registered_ring,no_multishot_poll,no_multishot_accept", "no_poll_first,no_receive_limit,short_sends"]
# Tests that a fault cannot reach, and those that make io_uring's shapes themselves.
BEYOND_FAULTS = ["*epoll*", "*sim*", "*Sim*", "H*", "MemoryDuplex*", "Bytes/MemoryBuffer*", "LogDeath*", "Seeds/naive*",
                 "*/not_deferred", "*/tiny_queue", "*/without_*", "*/short_sends"]
# Tests with a parameter name the backends that they run on.
BACKEND_OF_THE_ENVIRONMENT = "-*/*"
NEEDS_IO_URING = ["Kernel/backend_*", "ChooseBackend.Uring*", "Exhaustion*"]
SANITIZERS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    # die_after_fork=0: a test's child starts threads of its own.
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:die_after_fork=0:"
                    f"suppressions={ROOT / 'scripts/testing/tsan_suppressions.txt'}",
    "ASAN_SYMBOLIZER_PATH": shutil.which("llvm-symbolizer-19") or "",
    "TSAN_SYMBOLIZER_PATH": shutil.which("llvm-symbolizer-19") or "",
}


def python(script, *arguments):
    return ["python3", "-B", ROOT / script, *arguments]


def io_uring_refusal():
    """None where io_uring works; else the error's name. Tried rather than guessed from the kernel's version."""
    parameters = ctypes.create_string_buffer(120)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(425, 4, parameters)  # io_uring_setup: the same number everywhere but on alpha
    if descriptor < 0:
        return os.strerror(ctypes.get_errno())
    os.close(descriptor)
    return None


def script_env():
    return {
        "CORACLE_SOURCE_DIR": str(ROOT),
        "CORACLE_BUILD_DIR": str(BUILD / "release"),
        "CORACLE_BIN": str(BUILD / "release/bin"),
        "CORACLE_BACKENDS": "epoll" if io_uring_refusal() else "io_uring epoll",
        "CORACLE_PEERS": str(peers.BIN),
        "CORACLE_PYTHON": str(peers.PYTHON),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@functools.cache
def certificates():
    """Made once for all test programs of a run, which copy them."""
    folder = BUILD / "test-certificates"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["bash", ROOT / "tests/support/certificates.sh", folder], check=True)
    return str(folder)


def test_env(**more):
    return {**SANITIZERS, "CORACLE_TEST_CERTIFICATES": certificates(), **more}


def unit(preset, prefix=()):
    return run_gtest(f"unit ({preset})", [BUILD / preset / "bin/unit_tests"], TESTS_TIMEOUT_S, test_env(), SHARDS, prefix)


def e2e(preset, backend, chosen="*"):
    suite = f"e2e ({preset}, {backend})"
    if backend == "io_uring" and (refusal := io_uring_refusal()):
        return Outcome(suite, left_out=[("all", f"the kernel refuses io_uring: {refusal}")])
    env = test_env(CORACLE_BACKEND=backend, GTEST_FILTER=chosen)
    return run_gtest(suite, [BUILD / preset / "bin/e2e_tests"], TESTS_TIMEOUT_S, env, SHARDS)


def out_of_memory():
    programs = [BUILD / "release/bin/out_of_memory_tests"]
    return run_gtest("out of memory (release)", programs, TESTS_TIMEOUT_S, test_env())


def sim(preset):
    command = python("scripts/sim.py", "--preset", preset, "--first", "1", "--seeds", str(SIM_SEEDS[preset]))
    return run_cases(f"sim ({preset})", command, SCRIPT_TIMEOUT_S, SANITIZERS)


def with_uring_fault(fault):
    """Every test that may meet io_uring, with one of its probes failed on purpose."""
    suite = f"io_uring with {fault}"
    chosen = AFTER_ANY_REFUSAL if fault in URING_REFUSALS[1:] else []
    left_out = BEYOND_FAULTS + (NEEDS_IO_URING if fault in URING_REFUSALS else [])
    if refusal := io_uring_refusal():
        return Outcome(suite, left_out=[("all", f"the kernel refuses io_uring: {refusal}")])
    env = test_env(CORACLE_BACKEND="auto", CORACLE_TEST_URING_FAULTS=fault,
                   GTEST_FILTER=":".join(chosen) + "-" + ":".join(left_out))
    programs = [BUILD / "release/bin" / name for name in ("unit_tests", "e2e_tests")]
    return run_gtest(suite, programs, TESTS_TIMEOUT_S, env, SHARDS)


def scripts_in(folder, skips_fail=False, timeout_s=SCRIPT_TIMEOUT_S, at_once=1):
    """Runs each executable script of a folder of tests."""
    scripts = [path for path in sorted((ROOT / "tests" / folder).glob("*.*"))
               if path.suffix in (".sh", ".py") and os.access(path, os.X_OK)]
    outcome = Outcome(folder)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for one in pool.map(lambda path: run_cases(folder, [path], timeout_s, script_env(), skips_fail), scripts):
            outcome.add(one)
    return outcome


@functools.cache
def peers_on_their_way():
    return concurrent.futures.ThreadPoolExecutor(1).submit(peers.install)


def first_build():
    """Peers come meanwhile, which is waiting for the most part."""
    peers_on_their_way()
    return build("release")


def structure():
    outcome = Outcome("structure")
    for script in ("tests/structure/check.py", "tests/structure/self_test.py", "scripts/samples.py",
                   "scripts/options_reference.py", "scripts/figures.py", "scripts/testing/self_test.py"):
        run_cases("structure", python(script), SCRIPT_TIMEOUT_S, {}, outcome=outcome)
    return outcome


def interop():
    missing = peers_on_their_way().result()
    outcome = scripts_in("interop", skips_fail=CI, at_once=2)  # they wait a good deal, too
    (outcome.failed if CI else outcome.left_out).extend((f"peer {name}", reason) for name, reason in missing.items())
    return outcome


def tools():
    if CI:
        peers_on_their_way().result()  # what is missing is a case's reason
    return scripts_in("tools", skips_fail=CI, at_once=2)


def conformance():
    peers_on_their_way().result()  # what is missing is a case's reason
    return scripts_in("conformance", skips_fail=CI)


def docs():
    """The site, and what the guides show beside code."""
    outcome = Outcome("docs")
    for script in ("scripts/site.py", "tests/docs/deployment.py"):
        run_cases("docs", python(script), SCRIPT_TIMEOUT_S, script_env(), skips_fail=CI, outcome=outcome)
    return outcome


def cases(suite, script, *arguments):
    return lambda: run_cases(suite, python(script, *arguments), SCRIPT_TIMEOUT_S, script_env())


def quick():
    yield "structure", structure
    yield "build (release)", lambda: build("release")
    yield "runner", lambda: scripts_in("runner")
    yield "unit (release)", lambda: unit("release")
    yield "e2e (release, auto)", lambda: e2e("release", "auto")
    yield "out of memory (release)", out_of_memory
    yield "sim (release)", lambda: sim("release")
    yield "compile-fail", cases("compile-fail", "scripts/compile_fail.py")
    yield "golden", lambda: scripts_in("golden")
    yield "tools", tools


def whole():
    yield "structure", structure
    yield "format", cases("format", "scripts/format.py", "--check")
    yield "docs", docs
    yield "build (release)", first_build
    yield "runner", lambda: scripts_in("runner")
    yield "unit (release)", lambda: unit("release")
    for backend in ("io_uring", "epoll"):
        yield f"e2e (release, {backend})", lambda backend=backend: e2e("release", backend)
    yield "out of memory (release)", out_of_memory
    yield "sim (release)", lambda: sim("release")
    for fault in URING_REFUSALS + URING_LACKS:
        yield f"io_uring with {fault}", lambda fault=fault: with_uring_fault(fault)
    yield "headers", cases("headers", "scripts/headers.py")
    yield "compile-fail", cases("compile-fail", "scripts/compile_fail.py")
    yield "golden", lambda: scripts_in("golden")
    yield "tools", tools
    yield "tutorial", lambda: scripts_in("tutorial", timeout_s=CONSUME_TIMEOUT_S)
    yield "consume", lambda: scripts_in("consume", timeout_s=CONSUME_TIMEOUT_S)
    yield "interop", interop
    yield "conformance", conformance
    yield "build (asan)", lambda: build("asan", ["test_programs"])
    yield "unit (asan)", lambda: unit("asan")
    for backend in ("io_uring", "epoll"):
        yield f"e2e (asan, {backend})", lambda backend=backend: e2e("asan", backend)
    yield "sim (asan)", lambda: sim("asan")
    yield "build (tsan)", lambda: build("tsan", ["test_programs"])
    yield "unit (tsan)", lambda: unit("tsan")
    yield "e2e (tsan, io_uring)", lambda: e2e("tsan", "io_uring")
    yield "e2e (tsan, epoll)", lambda: e2e("tsan", "epoll", "*" if io_uring_refusal() else BACKEND_OF_THE_ENVIRONMENT)
    yield "sim (tsan)", lambda: sim("tsan")
    yield "build (gcc-asan)", lambda: build("gcc-asan", ["test_programs"])
    yield "unit (gcc-asan)", lambda: unit("gcc-asan", without_aslr())
    yield "build (fuzz)", lambda: build("fuzz")
    yield "fuzz", cases("fuzz", "scripts/fuzz.py", "smoke")


def judged():
    yield "build (conformance programs)", lambda: build("release", ["conformance_programs"])
    yield "conformance", conformance


def consumers():
    yield "build (release)", lambda: build("release")
    for folder in ("consume", "consume/slow"):
        yield folder, lambda folder=folder: scripts_in(folder, timeout_s=CONSUME_TIMEOUT_S)


TIERS = {"quick": quick, "whole": whole, "conformance": judged, "consumers": consumers}
