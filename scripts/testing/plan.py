"""The test matrix: which suites run on which build, in which order.

    quick   structure, and unit and end to end once, with g++ and without optimisation, which compiles in a third of the time
    submission   what each change has to pass (.ci/run): that on both backends, the gate, other people's programs, the sanitizers and fuzzers
    whole   that, and what has found little for the time that it takes (docs/internals/test_run.md)
    conformance   g++ release: other people's conformance suites alone
    consumers     g++ release: other projects use the library, also by each file of tests/consume/slow: packages, Conan, Meson, ...

Of the tests with a label (labels.py), the suites run one case of each kind, and of the tests with io_uring's faults a third. A label
is a suite, too, of all tests that have it, which only the whole run has; so are io_uring_faults and adapter_headers.

Builds after the first begin before their turn (builds.py), so that a build comes as late as its first suite allows.
"""

import concurrent.futures
import ctypes
import functools
import os

import labels
import peers
from builds import Build
from outcome import Outcome
from process import BUILD, ROOT
from suites import CPUS, ctest, gate, headers, languages, newer_protobuf, pytest, sanitizers

CI = bool(os.environ.get("CI"))
# Seeds of the simulation, from 1 on, of each scenario: what two cores play in half a minute. They are the same in every run, so that more
# of them find little; `./dev sim` plays others.
SIM_SEEDS = {"release": 250, "asan": 50, "tsan": 8}
# The adapters, each with a program of tests below tests/adapters.
ADAPTERS = ("agrpc", "asio", "execution", "grpcpp", "interface_c", "protobuf_services")
# A submission compiles their tests in the builds of the sanitizers alone: three are headers, and programs in the API of grpc++ run in
# the release build, too.
ADAPTERS_SANITIZED = ("agrpc", "asio", "execution", "grpcpp")
# Those with threads of their own, in which ThreadSanitizer has found faults.
ADAPTERS_WITH_THREADS = ("grpcpp", "interface_c")
TSAN_PROGRAMS = ("unit_tests", "e2e_tests", "grpcpp_tests", "c_tests")
# Tests whose parameter names a backend run on it in each of the suites: only the first runs them.
BACKEND_OF_THE_ENVIRONMENT = {"GTEST_FILTER": "-*/*io_uring*:*/*epoll*:*/*sim*"}


def io_uring_refusal():
    """None where io_uring works; else the error's name. Tried rather than guessed from the kernel's version."""
    parameters = ctypes.create_string_buffer(120)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(425, 4, parameters)  # io_uring_setup: the same number everywhere but on alpha
    if descriptor < 0:
        return os.strerror(ctypes.get_errno())
    os.close(descriptor)
    return None


def unless_refused(run, suite, *arguments, **how):
    """Left out where the kernel refuses io_uring."""
    refusal = io_uring_refusal()
    if refusal:
        return Outcome(suite, left_out=[("all", f"the kernel refuses io_uring: {refusal}")])
    return run(suite, *arguments, **how)


def e2e(preset, backend):
    suite = f"e2e ({preset}, {backend})"
    if backend == "io_uring":
        return suite, lambda: unless_refused(ctest, suite, preset, f"e2e-{backend}")
    after_another = backend == "epoll" and not io_uring_refusal()
    return suite, lambda: ctest(suite, preset, f"e2e-{backend}", env=BACKEND_OF_THE_ENVIRONMENT if after_another else None)


def one(name, run, *arguments, **how):
    """A suite of this name."""
    return name, lambda: run(name, *arguments, **how)


def built(preset, targets=(), meanwhile=None):
    return f"build ({preset})", Build(preset, targets, meanwhile)


def sim(preset):
    """Its processes are its own."""
    env = {**sanitizers(), "CORACLE_BUILD_DIR": str(BUILD / preset), "CORACLE_SIM_SEEDS": str(SIM_SEEDS[preset])}
    return one(f"sim ({preset})", pytest, "sim", env=env, jobs=0)


@functools.cache
def peers_on_their_way():
    return concurrent.futures.ThreadPoolExecutor(1).submit(peers.install)


def with_peers(suite, *paths, waits=True):
    """Tests that talk to other people's programs: what is missing is a case's reason."""
    if waits:
        peers_on_their_way().result()
    return pytest(suite, *paths)


def conformance_suites(suite):
    """Two at a time, of which each keeps about one processor busy, also those of one file."""
    peers_on_their_way().result()
    return pytest(suite, "conformance", options=["--dist=loadgroup"])


def labelled_tests(suite, label):
    peers_on_their_way().result()
    return pytest(suite, *labels.folders(label), options=["-m", label], one_of_each=False)


def interop(suite):
    missing = peers_on_their_way().result()
    outcome = pytest(suite, "interop")
    (outcome.failed if CI else outcome.left_out).extend((f"peer {name}", reason) for name, reason in missing.items())
    return outcome


def adapters(preset, names=ADAPTERS):
    for name in names:
        yield one(f"{name} ({preset})", ctest, preset, name)


def others_than(adapters):
    return [name for name in ADAPTERS if name not in adapters]


def release():
    """What does not depend on the backend."""
    yield from adapters("release", others_than(ADAPTERS_SANITIZED))
    yield one("out of memory (release)", ctest, "release", "out_of_memory")
    yield one("footprint (release)", ctest, "release", "footprint")
    yield sim("release")


def quick():
    yield one("structure", pytest, "structure")
    yield built("quick", ["unit_tests", "e2e_tests"])
    yield one("unit (quick)", ctest, "quick", "unit", jobs=4 * CPUS)
    yield e2e("quick", "auto")


def submission():
    yield one("structure", pytest, "structure")
    yield built("release", meanwhile=peers_on_their_way)  # which waits for the most part
    yield one("docs", pytest, "docs")
    yield one("runner", pytest, "runner")
    yield one("gate", gate)
    yield e2e("release", "io_uring")
    yield e2e("release", "epoll")
    yield from release()
    yield one("languages", languages)
    yield one("without io_uring's parts", some_faults_of_io_uring)
    yield one("headers", headers)
    yield one("newer protobuf", newer_protobuf)
    yield one("compile-fail", pytest, "compile_fail", options=["--dist=load"])
    yield one("golden", pytest, "golden")
    yield one("tools", with_peers, "tools", waits=CI)
    yield one("tutorial", pytest, "tutorial")
    yield one("consume", pytest, "consume")
    yield one("interop", interop)
    yield one("conformance", conformance_suites)
    yield built("asan", ["test_programs"])
    yield one("unit (asan)", ctest, "asan", "unit")
    yield e2e("asan", "io_uring")
    yield e2e("asan", "epoll")
    yield from adapters("asan")
    yield sim("asan")
    yield one("fuzz", pytest, "fuzz", options=["--dist=load"])
    yield built("tsan", TSAN_PROGRAMS)
    yield one("unit (tsan)", ctest, "tsan", "unit")
    yield e2e("tsan", "io_uring")
    yield from adapters("tsan", ADAPTERS_WITH_THREADS)


def whole():
    yield from submission()
    yield "build (release, the rest)", Build("release", ["test_programs"], in_use=True)
    yield one("unit (release)", ctest, "release", "unit")
    yield built("gcc-asan", ["test_programs"])
    yield one("unit (gcc-asan)", ctest, "gcc-asan", "unit")
    yield from adapters("release", ADAPTERS_SANITIZED)
    yield "build (tsan, the rest)", Build("tsan", ["test_programs"], options=["-D", "CORACLE_TEST_E2E=ON"], in_use=True)
    yield "e2e, all (tsan, io_uring)", e2e("tsan", "io_uring")[1]
    yield e2e("tsan", "epoll")
    yield from adapters("tsan", others_than(ADAPTERS_WITH_THREADS))
    yield sim("tsan")
    yield one("interop/slow", pytest, "interop/slow", jobs=0)
    yield from labelled()


def faults_of_io_uring(suite, label):
    return unless_refused(ctest, suite, "release", label, jobs=4 * CPUS)


def some_faults_of_io_uring(suite):
    outcome = faults_of_io_uring(suite, "third-without-io_uring")
    outcome.left_out.append(("two thirds of the tests with each fault", labels.reason("io_uring_faults")))
    return outcome


def conformance():
    yield built("release", ["conformance_programs"])
    yield one("conformance", conformance_suites)


def consumers():
    yield built("release")
    yield one("consume", pytest, "consume")
    for path in sorted((ROOT / "tests/consume/slow").glob("*_test.py")):
        yield one(f"consume/slow: {path.stem.removesuffix('_test')}", pytest, f"consume/slow/{path.name}")


def labelled():
    for label in labels.FIXTURES:
        yield one(label, labelled_tests, label)
    yield one("io_uring_faults", faults_of_io_uring, "without-io_uring")
    yield one("adapter_headers", headers, of_adapters=True)


TIERS = {"quick": quick, "submission": submission, "whole": whole, "conformance": conformance, "consumers": consumers}
