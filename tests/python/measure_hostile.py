# SPDX-License-Identifier: Apache-2.0
"""What reading a hostile model of 1 MiB takes.

    measure_hostile.py TILEWRIGHT [STAGE [MODEL...]]    seconds of the CPU and megabytes of each

The stage `read` stops when all types are inferred, by asking for a pass that is not there; others are those of --emit.
"""
import os
import resource
import sys
import tempfile

import hostile_chains  # noqa: F401
from hostile_models import MODELS, model


def measure(program, path, stage):
    """Seconds of the CPU, megabytes, and what the program says first of an error."""
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(errors.fileno(), 2)
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
            until = ["--emit", "fused", "--skip", "none-such"] if stage == "read" else ["--emit", stage]
            os.execv(program, [program, "compile", path, "--no-cache", *until])
        _, status, usage = os.wait4(child, 0)
        errors.seek(0)
        first = errors.read().decode(errors="replace").splitlines()[:1]
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, status, first[0] if first else ""


def main():
    program, stage = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "read"
    names = sys.argv[3:] or MODELS
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            content = model(name, 1 << 20)
            path = os.path.join(folder, f"{name}.onnx")
            with open(path, "wb") as file:
                file.write(content)
            seconds, megabytes, status, error = measure(program, path, stage)
            mark = "!" if seconds > 2 or megabytes > 512 or os.WIFSIGNALED(status) else " "
            print(f"{mark} {name:28} {len(content):8} B {seconds:6.2f} s {megabytes:6.0f} MB  {status} {error[:100]}", flush=True)
            os.remove(path)


if __name__ == "__main__":
    main()
