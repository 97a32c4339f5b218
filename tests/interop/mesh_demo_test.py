"""The demonstration of a mesh, ./dev demo mesh: its short form keeps its promises, and one that is broken is told."""

import sys
import types

import pytest

pytest.importorskip("grpc", reason="./dev peers installs it")

from programs import BIN, ROOT, own, run  # noqa: E402


def test_the_promises_are_kept(tmp_path):
    for name in ("mesh_server", "mesh_client", "coracle"):
        own(name)
    file = tmp_path / "mesh.html"
    done = run(sys.executable, "-B", ROOT / "scripts/mesh", "--short", "--bin", BIN, "--page", file, limit_s=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kept: No call has failed" in done.stdout and "BROKEN" not in done.stdout, done.stdout
    shown = file.read_text()
    for text in ("18 of 18 promises are kept", "mesh-client", "backend-3", "<svg"):
        assert text in shown, f"the page has no {text!r}"


def test_a_broken_promise_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "scripts/mesh")
    import members
    import story

    def sabotage(of):
        of.backends[0].fault.touch()
        assert of.guests.wait_for(members.failed, story.LIMIT_S)

    file = tmp_path / "mesh.html"
    options = types.SimpleNamespace(short=True, loopback=True, page=file)
    assert story.tell(options, (story.begin, sabotage, story.end)) == 1
    assert "BROKEN: No call has failed but those of the outlier" in capsys.readouterr().out
    assert 'class="broken"' in file.read_text()
