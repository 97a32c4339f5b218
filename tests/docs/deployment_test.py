"""What docs/guides/deployment.md shows holds together: the units are systemd's, the manifests parse, the times fit."""

import re
import shutil
import subprocess

import pytest

from programs import ROOT

FOLDER = ROOT / "examples/deployment"
PROGRAM = ROOT / "tests/docs/serving_test.cpp"


def manifests():
    yaml = pytest.importorskip("yaml", reason="scripts/packages.sh docs installs it")
    found = {}
    for one in yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text()):
        assert {"apiVersion", "kind", "metadata", "spec"} <= one.keys(), f"a manifest lacks a field: {sorted(one)}"
        found[one["kind"]] = one
    return found


def drain_grace_s():
    return int(re.search(r"drain_grace = (\d+)s;", PROGRAM.read_text())[1])


def test_the_manifests_fit_together():
    every = manifests()
    pod = every["Deployment"]["spec"]["template"]
    labels, container = pod["metadata"]["labels"], pod["spec"]["containers"][0]
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert every[kind]["spec"]["selector"]["matchLabels"] == labels, f"the {kind} selects other pods"
    assert every["Service"]["spec"]["selector"] == labels, "the Service selects other pods"
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    service = every["Service"]["spec"]["ports"][0]
    assert service["targetPort"] in ports, f"the Service's port {service['targetPort']} is none of the container's"
    assert container["args"][-1].endswith(f":{ports['grpc']}"), "the program listens on another port"
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["grpc"]["port"] == ports["grpc"], f"{probe} asks another port"


def test_the_service_has_no_address():
    assert manifests()["Service"]["spec"]["clusterIP"] == "None", "the Service balances connections itself"


def test_the_drain_fits_into_the_pods_end():
    pod = manifests()["Deployment"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    needed = drain_grace_s() + container["lifecycle"]["preStop"]["sleep"]["seconds"]
    given = pod["terminationGracePeriodSeconds"]
    assert given > needed, f"{given} s for a pause and a drain of {needed} s"
    alive = container["livenessProbe"]
    assert alive["periodSeconds"] * alive["failureThreshold"] >= given, "the liveness probe ends a drain early"


def test_the_drain_fits_into_the_units_end():
    stop_s = int(re.search(r"^TimeoutStopSec=(\d+)$", (FOLDER / "movies.service").read_text(), re.M)[1])
    assert stop_s > drain_grace_s(), f"TimeoutStopSec={stop_s} is no longer than the drain"


def test_systemd_accepts_the_units(tmp_path):
    tool = shutil.which("systemd-analyze")
    if not tool:
        pytest.skip("there is no systemd-analyze (systemd)")
    units = ("movies.service", "movies.socket", "movies-handover.service")
    for unit in units:
        # The program is not installed here; whatever is stands for it.
        text = (FOLDER / unit).read_text().replace("/usr/bin/movies", shutil.which("true"))
        (tmp_path / unit).write_text(text)
    done = subprocess.run([tool, "verify", "--recursive-errors=no", *(f"{tmp_path}/{unit}" for unit in units)],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "movies." in line or "movies-handover." in line]
    assert done.returncode == 0 and not said, (said or [f"systemd-analyze: {done.returncode}"])[0]
