"""coracle bench against a server on grpcio: its table adds up."""

import pathlib
import re
import sys

import pytest

import programs
from programs import Server, own, run


pytest.importorskip("google.protobuf", reason="./dev peers installs it")
pytest.importorskip("grpc", reason="./dev peers installs it")

ROW = re.compile(r"^(\w+): .*?" + 7 * r"\s+([\d.]+)" + "$", re.M)


@pytest.fixture(scope="module")
def server():
    service = pathlib.Path(__file__).with_name("grpcio_bench_service.py")
    with Server(sys.executable, "-B", service) as one:
        yield one


def bench(server, *words, code=0):
    done = run(own("coracle"), "bench", server.address, "-p", *words, limit_s=120)
    assert done.returncode == code, f"the exit code ({done.stderr.strip()[-300:]})"
    return done


def test_a_table_of_all_workloads(server):
    done = bench(server, "--seconds", "100ms", "--loops", "1,auto")
    rows = ROW.findall(done.stdout)
    assert [row[0] for row in rows] == 2 * ["smol", "big", "req", "resp", "bidi"], f"the rows of {done.stdout!r}"
    for name, memory, allocations, rate, mean, _, least, most in rows:
        assert float(rate) > 0 and float(least) <= float(mean) <= float(most), f"the row of {name} does not add up"
        assert float(memory) > 0 or float(allocations) < 0.1, f"{name} takes {memory} KiB by {allocations} allocations"
    big = next(row for row in rows if row[0] == "big")
    assert float(big[1]) > 1000, f"a large request takes {big[1]} KiB only"


def test_one_workload(server):
    rows = ROW.findall(bench(server, "req", "--seconds", "50ms").stdout)
    assert [row[0] for row in rows] == ["req"], "the rows"


def test_stress_goes_on_until_it_is_stopped(server):
    with programs.Background(own("coracle"), "bench", server.address, "-p", "req", "--seconds", "20ms", "--stress") as stress:
        for _ in range(3):
            stress.wait_for(re.compile("^req: "), programs.START_LIMIT_S)
        stress.expect_alive()


def test_mistakes_are_told(server):
    assert "smol" in bench(server, "none", code=64).stderr, "the workloads are not named"
    assert "more than 0s" in bench(server, "--seconds", "0s", "smol", code=64).stderr, "it takes no time for a time"
    with Server(own("greeter_server"), "127.0.0.1:0") as other:
        done = bench(other, "smol", code=65)
        assert "test.TestService" in done.stderr and done.stdout == "", f"it says {done.stderr!r} and prints {done.stdout!r}"
    assert "1,auto" in bench(server, "--loops", "many", code=64).stderr, "the fix is not named"


def test_it_is_not_among_the_commands_for_users():
    assert "bench" not in run(own("coracle"), "help").stdout
    assert "Usage: coracle bench [OPTIONS] ADDRESS [WORKLOAD...]" in run(own("coracle"), "help", "bench").stdout
