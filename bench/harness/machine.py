"""What the figures were measured on, and where servers and generators run."""

import os
import pathlib
import platform
import subprocess


class Failure(Exception):
    """One line that says what is wrong."""


def cores():
    """The core of the server and the core of the generator: the same where there is only one."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[0], usable[1 % len(usable)]


def first_line(command, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, **options)
        return done.stdout.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def busy_seconds():
    """What all cores together have worked so far, for whomever, and what the host has taken away."""
    user, nice, system, _idle, _iowait, *more = (int(n) for n in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + sum(more)) / os.sysconf("SC_CLK_TCK")


def describe(root):
    changed = subprocess.run(["git", "status", "--porcelain", "src", "include", "bench"], cwd=root,
                             capture_output=True, text=True).stdout
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "commit": first_line(["git", "describe", "--always"], cwd=root) + (" with changes" if changed else ""),
        "compiler": first_line(["g++", "--version"]),
        "h2load": first_line(["h2load", "--version"]),
        "grpc++": first_line(["pkg-config", "--modversion", "grpc++"]),
        "protobuf": first_line(["pkg-config", "--modversion", "protobuf"]),
        "load_average_before": os.getloadavg()[0],
    }


def caveats(described):
    text = ", ".join(f"{name} {described[name]}" for name in ("processor", "kernel", "commit", "grpc++"))
    lines = [f"Measured on: {text}."]
    if len(os.sched_getaffinity(0)) < 2:
        lines.append("Server and generator shared the only core: the echo figures are worth little.")
    if described["load_average_before"] > 0.5:
        lines.append(f"The machine was busy before (load average {described['load_average_before']:.1f}): "
                     "times are less sure than the noise band says.")
    return "\n".join(lines)
