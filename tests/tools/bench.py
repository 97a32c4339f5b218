#!/usr/bin/env python3
"""coracle bench against a server on grpcio: its table adds up."""

import re

import stage
from stage import Cases, Server, equal, expect, own, run

ROW = re.compile(r"^(\w+): .*?" + 7 * r"\s+([\d.]+)" + "$", re.M)


def bench(server, *words, code=0):
    done = run(own("coracle"), "bench", server.address, "-p", *words, limit_s=120)
    equal(done.returncode, code, f"the exit code ({done.stderr.strip()[-300:]})")
    return done


def a_table_of_all_workloads(server):
    done = bench(server, "--seconds", "100ms", "--loops", "1,auto")
    rows = ROW.findall(done.stdout)
    equal([row[0] for row in rows], 2 * ["smol", "big", "req", "resp", "bidi"], f"the rows of {done.stdout!r}")
    for name, memory, allocations, rate, mean, _, least, most in rows:
        expect(float(rate) > 0 and float(least) <= float(mean) <= float(most), f"the row of {name} does not add up")
        expect(float(memory) > 0 or float(allocations) < 0.1, f"{name} takes {memory} KiB by {allocations} allocations")
    big = next(row for row in rows if row[0] == "big")
    expect(float(big[1]) > 1000, f"a large request takes {big[1]} KiB only")


def one_workload(server):
    rows = ROW.findall(bench(server, "req", "--seconds", "50ms").stdout)
    equal([row[0] for row in rows], ["req"], "the rows")


def stress_goes_on_until_it_is_stopped(server):
    with stage.Background(own("coracle"), "bench", server.address, "-p", "req", "--seconds", "20ms", "--stress") as stress:
        for _ in range(3):
            stress.wait_for(re.compile("^req: "), stage.START_LIMIT_S)
        stress.expect_alive()


def mistakes_are_told(server):
    expect("smol" in bench(server, "none", code=64).stderr, "the workloads are not named")
    expect("more than 0s" in bench(server, "--seconds", "0s", "smol", code=64).stderr, "it takes no time for a time")
    with Server(own("greeter_server"), "127.0.0.1:0") as other:
        done = bench(other, "smol", code=65)
        expect("test.TestService" in done.stderr and done.stdout == "", f"it says {done.stderr!r} and prints {done.stdout!r}")
    expect("1,auto" in bench(server, "--loops", "many", code=64).stderr, "the mend is not named")


def main():
    stage.with_packages("grpc", "google.protobuf")
    cases = Cases()
    with Server(stage.sys.executable, "-B", stage.pathlib.Path(__file__).with_name("test_service.py")) as server:
        cases.each("Bench", (a_table_of_all_workloads, one_workload, stress_goes_on_until_it_is_stopped, mistakes_are_told), server)
    cases.end()


if __name__ == "__main__":
    main()
