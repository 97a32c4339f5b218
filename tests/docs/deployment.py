#!/usr/bin/env python3
"""What docs/guides/deployment.md shows holds together: the units are systemd's, the manifests parse, the times fit."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/deployment"
PROGRAM = ROOT / "tests/docs/serving_test.cpp"
SITE_PYTHON = ROOT / "build/docs/venv/bin/python"  # which has yaml

try:
    import yaml
except ImportError:
    yaml = None


class Wrong(Exception):
    pass


class Missing(Exception):
    pass


def expect(truth, what):
    if not truth:
        raise Wrong(what)


def manifests():
    if yaml is None:
        raise Missing("Python has no yaml; ./dev docs installs it")
    found = {}
    for one in yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text()):
        expect({"apiVersion", "kind", "metadata", "spec"} <= one.keys(), f"a manifest lacks a field: {sorted(one)}")
        found[one["kind"]] = one
    return found


def drain_grace_s():
    return int(re.search(r"drain_grace\((\d+)s\)", PROGRAM.read_text())[1])


def the_manifests_fit_together():
    every = manifests()
    pod = every["Deployment"]["spec"]["template"]
    labels, container = pod["metadata"]["labels"], pod["spec"]["containers"][0]
    for kind in ("Deployment", "PodDisruptionBudget"):
        expect(every[kind]["spec"]["selector"]["matchLabels"] == labels, f"the {kind} selects other pods")
    expect(every["Service"]["spec"]["selector"] == labels, "the Service selects other pods")
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    service = every["Service"]["spec"]["ports"][0]
    expect(service["targetPort"] in ports, f"the Service's port {service['targetPort']} is none of the container's")
    expect(container["args"][-1].endswith(f":{ports['grpc']}"), "the program listens on another port")
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        expect(container[probe]["grpc"]["port"] == ports["grpc"], f"{probe} asks another port")


def the_service_has_no_address():
    expect(manifests()["Service"]["spec"]["clusterIP"] == "None", "the Service balances connections itself")


def the_drain_fits_into_the_pods_end():
    pod = manifests()["Deployment"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    needed = drain_grace_s() + container["lifecycle"]["preStop"]["sleep"]["seconds"]
    given = pod["terminationGracePeriodSeconds"]
    expect(given > needed, f"{given} s for a pause and a drain of {needed} s")
    alive = container["livenessProbe"]
    expect(alive["periodSeconds"] * alive["failureThreshold"] >= given, "the liveness probe ends a drain early")


def the_drain_fits_into_the_units_end():
    stop_s = int(re.search(r"^TimeoutStopSec=(\d+)$", (FOLDER / "movies.service").read_text(), re.M)[1])
    expect(stop_s > drain_grace_s(), f"TimeoutStopSec={stop_s} is no longer than the drain")


def systemd_accepts_the_units():
    tool = shutil.which("systemd-analyze")
    if not tool:
        raise Missing("there is no systemd-analyze (systemd)")
    with tempfile.TemporaryDirectory() as scratch:
        for unit in ("movies.service", "movies.socket"):
            # The program is not installed here; whatever is stands for it.
            text = (FOLDER / unit).read_text().replace("/usr/bin/movies", shutil.which("true"))
            pathlib.Path(scratch, unit).write_text(text)
        done = subprocess.run([tool, "verify", "--recursive-errors=no", f"{scratch}/movies.service", f"{scratch}/movies.socket"],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "movies." in line]
    expect(done.returncode == 0 and not said, (said or [f"systemd-analyze: {done.returncode}"])[0])


def main():
    failed = False
    for case in (the_manifests_fit_together, the_service_has_no_address, the_drain_fits_into_the_pods_end,
                 the_drain_fits_into_the_units_end, systemd_accepts_the_units):
        name = "".join(word.capitalize() for word in case.__name__.split("_"))
        try:
            case()
            print(f"PASS {name}")
        except Missing as reason:
            print(f"SKIP {name}: {reason}")
        except (Wrong, AttributeError, KeyError, TypeError) as fault:
            failed = True
            print(f"FAIL {name}: {fault!r}" if not isinstance(fault, Wrong) else f"FAIL {name}: {fault}")
    return 1 if failed else 0


if __name__ == "__main__":
    if yaml is None and SITE_PYTHON.exists() and pathlib.Path(sys.prefix) != SITE_PYTHON.parents[1]:
        os.execv(SITE_PYTHON, [SITE_PYTHON, "-B", __file__])
    sys.exit(main())
