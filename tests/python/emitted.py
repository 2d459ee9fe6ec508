# SPDX-License-Identifier: Apache-2.0
"""Runs what `tilewright compile --emit-c` writes: on this machine, under qemu, without a system."""
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw

HERE = Path(__file__).resolve().parent
STRICT = "-std=c11 -Wall -Wextra -Werror -ffreestanding".split()
CORTEX_M4 = "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16".split()


def command():
    """The program of this build, or of the installed package."""
    package = Path(tw.__file__).parent
    for program in (package / "bin" / "tilewright", package.parent.parent / "tilewright"):
        if program.is_file():
            return str(program)
    pytest.skip("there is no program `tilewright` beside the package: build it")


def compile_model(model, folder, *arguments):
    """What the program prints when it compiles the model as m.onnx in the folder."""
    onnx.save(model, folder / "m.onnx")
    done = subprocess.run([command(), "compile", "m.onnx", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout if done.returncode == 0 else tw_error(done.stderr)


class Refused(Exception):
    pass


def tw_error(text):
    raise Refused(text)


def tool(*names):
    """Skips the test when a program is missing; tools/setup.sh installs all of them."""
    for name in names:
        if shutil.which(name) is None:
            pytest.skip(f"there is no `{name}`: tools/setup.sh installs it")


def c_bytes(array):
    return ", ".join(map(str, array.tobytes())) or "0"


def harness(folder, inputs, outputs):
    """main.c: runs the model on arrays that stand in it and prints the bytes of each output as hexadecimal digits."""
    header = (folder / "m.h").read_text()
    run = re.search(r"int m_run\((.*)\);", header, re.S).group(1)
    names = re.findall(r"(\w+)(?:,|$)", run)
    text = ['#include "m.h"', "void put(const char* text);",
            "static _Alignas(M_ARENA_ALIGNMENT) unsigned char arena[M_ARENA_BYTES + 64];"]
    arguments = []
    for i, array in enumerate(inputs):
        text.append(f"static const _Alignas(64) unsigned char in{i}[] = {{{c_bytes(array)}}};")
        arguments.append(f"(const void*)in{i}")
    for i, array in enumerate(outputs):
        text.append(f"static _Alignas(64) unsigned char out{i}[{max(array.nbytes, 1)}];")
        arguments.append(f"(void*)out{i}")
    assert len(names) == len(arguments) + 1
    text += ["static void show(const unsigned char* data, int bytes) {",
             "  for (int i = 0; i < bytes; ++i) {",
             '    const char digits[] = "0123456789abcdef";',
             "    const char two[3] = {digits[data[i] >> 4], digits[data[i] & 15], 0};",
             "    put(two);", "  }", '  put("\\n");', "}",
             "int main(void) {",
             "  for (int i = 0; i < 64; ++i) arena[M_ARENA_BYTES + i] = 0xa5;",
             "  for (int i = 0; i < M_ARENA_BYTES; ++i) arena[i] = 0xff;  /* nothing may be read before it is written */",
             f"  if (m_run({', '.join([*arguments, 'arena'])}) != 0) return 6;"]
    text += [f"  show(out{i}, {a.nbytes});" for i, a in enumerate(outputs)]
    text += ["  for (int i = 0; i < 64; ++i) if (arena[M_ARENA_BYTES + i] != 0xa5) return 7;", "  return 0;", "}"]
    (folder / "main.c").write_text("\n".join(text) + "\n")


LINUX_PUT = '#include <stdio.h>\nvoid put(const char* text) { fputs(text, stdout); }\n'


def run_c(folder, machine, inputs, expected):
    """The outputs of the C in `folder` on a machine: host, aarch64, riscv64 or cortex-m."""
    harness(folder, inputs, expected)
    if machine == "cortex-m":
        tool("arm-none-eabi-gcc", "qemu-system-arm")
        start = HERE / "cortex_m"
        build = ["arm-none-eabi-gcc", *CORTEX_M4, "-O2", "-nostdlib", f"-T{start / 'link.ld'}", str(start / "start.c")]
        run = ["qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none",
               "-chardev", "stdio,id=out", "-semihosting-config", "enable=on,target=native,chardev=out",
               "-kernel", "m.elf"]
    else:
        (folder / "put.c").write_text(LINUX_PUT)
        cross = {"host": [], "aarch64": ["aarch64-linux-gnu-"], "riscv64": ["riscv64-linux-gnu-"]}[machine]
        gcc = "".join(cross) + "gcc"
        emulator = [] if machine == "host" else [f"qemu-{machine}"]
        tool(gcc, *emulator)
        build = [gcc, "-O2", "-static", "put.c"]
        run = [*emulator, "./m.elf"]
    # The model's own file under the strictest flags, then the program.
    subprocess.run([build[0], *(CORTEX_M4 if machine == "cortex-m" else []), "-O2", *STRICT, "-c", "m.c"],
                   cwd=folder, check=True)
    libraries = ["-lgcc"] if machine == "cortex-m" else []
    subprocess.run([*build, "-std=c11", "main.c", "m.o", *libraries, "-o", "m.elf"], cwd=folder, check=True)
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr)
    lines = done.stdout.splitlines()
    assert len(lines) == len(expected)
    return [np.frombuffer(bytes.fromhex(line), a.dtype).reshape(a.shape) for line, a in zip(lines, expected)]
