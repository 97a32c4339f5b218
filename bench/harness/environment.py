"""Virtual environments with pinned packages of Python, below the folder of the build."""

import hashlib
import shutil
import subprocess
import sys

from harness import machine

INSTALL_TIMEOUT_S = 15 * 60


def run(command):
    try:
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=INSTALL_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise machine.Failure(f"{command[0]}: {error}") from None
    if done.returncode != 0:
        raise machine.Failure(f"{' '.join(map(str, command[:4]))}: {done.stdout.strip()[-500:]}")
    return done.stdout


def install(venv, requirements):
    """The Python of an environment, which is made anew when the requirements change."""
    python, stamp = venv / "bin/python", venv / "stamp"
    content = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != content:
        shutil.rmtree(venv, ignore_errors=True)
        run([sys.executable, "-m", "venv", venv])
        run([python, "-m", "pip", "install", "--quiet", "-r", requirements])
        stamp.write_text(content)
    return python
