"""coracle completion: real shells complete commands, options, values, files, services and methods."""

import os
import pathlib
import re
import shlex
import subprocess
import time

import pytest

from programs import ROOT, own, run

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, with coracle in the PATH and a target in the configuration."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/coracle").symlink_to(own("coracle"))
    (tmp_path / "config.json").write_text('{"targets": {"movies": {"address": "a:1"}}}')
    for name, value in {"HOME": tmp_path, "XDG_CACHE_HOME": tmp_path / "cache", "XDG_CONFIG_HOME": tmp_path, "ZDOTDIR": tmp_path,
                        "CORACLE_CONFIG": tmp_path / "config.json", "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}.items():
        monkeypatch.setenv(name, str(value))
    return tmp_path


def in_bash(line, folder):
    script = f"""source <(coracle completion bash)
COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}
compopt() {{ echo :files; }}
read -ra COMP_WORDS <<< "${{COMP_LINE//[:=]/ & }}"; [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_coracle; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=30, cwd=folder)


def in_fish(line, folder):
    script = f"coracle completion fish | source; complete -C {shlex.quote(line)}"
    return subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, timeout=30, cwd=folder)


# zsh completes only on a terminal: zpty of its own gives it one.
ZSH = r"""
zmodload zsh/zpty
zpty z 'zsh -f -i'
zpty -w z 'PS1=; PROMPT=; unsetopt zle_bracketed_paste 2>/dev/null; autoload -U compinit; compinit -u -D'
zpty -w z 'source <(coracle completion zsh)'
zpty -w z 'compadd() { local -a hits; builtin compadd -O hits "$@"; local hit; for hit in $hits; do print -r -- "<$hit>" >> $HOME/zsh_hits; done; }'
zpty -w z 'bindkey "^I" complete-word; zle -C complete-word complete-word _main_complete; print READY'
integer n=0
while (( n++ < 200 )) && zpty -r z line; do [[ $line == *READY* && $line != *print* ]] && break; done
zpty -w -n z "$1"$'\t'
n=0
while (( n++ < 60 )); do zpty -rt z line; [[ -s $HOME/zsh_hits ]] && break; sleep 0.1; done
sleep 0.2
zpty -d z
cat $HOME/zsh_hits 2>/dev/null
rm -f $HOME/zsh_hits
"""


def in_zsh(line, folder):
    return subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", line], capture_output=True, text=True, timeout=60, cwd=folder)


def completed(shell, line, folder):
    """The candidates for a line, without their descriptions."""
    done = {"bash": in_bash, "fish": in_fish, "zsh": in_zsh}[shell](line, folder)
    if shell == "zsh":
        return sorted(set(re.findall(r"^<(.*)>$", done.stdout, re.M)))
    assert done.stderr == "", f"what {shell} complains of"
    return sorted({one.split("\t")[0] for one in done.stdout.splitlines()} - {""})


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_and_values(shell, home):
    assert completed(shell, "coracle des", home) == ["describe"]
    assert {"call", "load", "diff"} <= set(completed(shell, "coracle ", home))
    assert "complete" not in completed(shell, "coracle comp", home), "the hidden command"
    assert completed(shell, "coracle call --prot", home) == ["--proto", "--protocol", "--protoset"]
    assert completed(shell, "coracle load --protocol ", home) == ["connect", "grpc", "grpc-web", "grpc-web-text", "rest"]
    assert completed(shell, "coracle openapi --format ", home) == ["json", "yaml"]
    assert completed(shell, "coracle call --format ", home) == ["human", "json", "text"]
    assert completed(shell, "coracle completion z", home) == ["zsh"]
    assert completed(shell, "coracle call @", home) == ["@movies"]


@pytest.mark.parametrize("shell", SHELLS)
def test_services_and_methods_of_a_server(shell, home, movie_server):
    begun = f"coracle call {movie_server.address} -p "
    assert completed(shell, begun + "AddM", home) == ["AddMovie", "AddMultipleMovies"]
    assert completed(shell, begun + "movie.MovieService/L", home) == ["movie.MovieService/ListMovies"]
    assert "movie.MovieService" in completed(shell, f"coracle ls {movie_server.address} -p ", home)
    assert completed(shell, f"coracle describe {movie_server.address} -p movie.Mov", home)[0] == "movie.Movie"
    assert "Movie" in completed(shell, f"coracle describe {movie_server.address} -p Mov", home)
    for command in ("ls", "openapi"):
        assert completed(shell, f"coracle {command} {movie_server.address} -p MovieS", home) == ["MovieService"]


@pytest.mark.parametrize("shell", ("bash", "fish"))
def test_files(shell, home):
    (home / "request.proto").write_text("")
    expected = {"bash": ":files", "fish": "request.proto"}[shell]
    assert completed(shell, "coracle call --proto req", home) == [expected]


def test_definitions_in_files_need_no_server(home):
    line = f"coracle call --proto {ROOT / 'examples/02_movie/movie.proto'} localhost:1 ListM"
    assert completed("bash", line, home) == ["ListMovies"]


def test_what_a_server_said_is_kept_for_its_user_alone(home, movie_server):
    line = f"coracle call {movie_server.address} -p ListM"
    assert completed("bash", line, home) == ["ListMovies"]
    kept = list((home / "cache/coracle").iterdir())
    assert len(kept) == 1 and kept[0].stat().st_mode & 0o777 == 0o600
    kept[0].write_text("method\ta.B/ListMine\tunary\n")
    assert completed("bash", line, home) == ["ListMine"], "it asks again"
    os.utime(kept[0], (time.time() - 400, time.time() - 400))
    assert completed("bash", line, home) == ["ListMovies"], "after five minutes it does not ask again"
    for i in range(40):
        (kept[0].parent / f"names-{i}").write_text("")
    kept[0].unlink()
    completed("bash", line, home)
    assert len(list(kept[0].parent.iterdir())) <= 32, "the files that are kept"


def test_a_server_that_does_not_answer_is_not_waited_for(home):
    import socket
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        assert completed("bash", f"coracle call 127.0.0.1:{silent.getsockname()[1]} -p ", home) == []
        assert time.monotonic() - began < 5, "seconds"
    assert completed("bash", "coracle call localhost:1 -p ", home) == []
    (home / "config.json").write_text('{"targets": {"slow": {"address": "localhost:1", "headers": {"x": {"command": "sleep 20"}}}}}')
    began = time.monotonic()
    assert completed("bash", "coracle call @slow Li", home) == []
    assert time.monotonic() - began < 5, "seconds until the command of a target is given up"


def test_quotes_in_the_line_do_not_confuse_it(home, movie_server):
    line = f"""true; coracle call {movie_server.address} -p -d '{{"title": "a b"}}' ListM"""
    assert completed("bash", line, home) == ["ListMovies"]
