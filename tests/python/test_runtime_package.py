# SPDX-License-Identifier: Apache-2.0
"""The installed runtime: programs find it by CMake and by pkg-config, wherever it lies."""
import os
import subprocess
from pathlib import Path

import pytest

from emitted import command, tool

MAIN = """
#include <stdio.h>
#include <tilewright/runtime.h>
int main(void) {
  tw_module* module;
  return tw_load_file("/no/such/file", 0, &module) == TW_IO_ERROR ? printf("%s\\n", tw_runtime_version()) < 0 : 1;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(app C)
find_package(tilewright REQUIRED)
foreach(kind runtime runtime_static)
  add_executable(app_${kind} main.c)
  target_link_libraries(app_${kind} PRIVATE tilewright::${kind})
endforeach()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    build = Path(command()).parent
    if not (build / "CMakeCache.txt").exists():
        pytest.skip("the package is installed from a build folder, and this is none")
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", build, "--component", "runtime", "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)
    return prefix


def version(program, **environment):
    return subprocess.run([program], capture_output=True, text=True, check=True, env=os.environ | environment).stdout


def test_cmake_finds_it(installed, tmp_path):
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    subprocess.run(["cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={installed}"], cwd=tmp_path, check=True)
    subprocess.run(["cmake", "--build", "b"], cwd=tmp_path, check=True)
    assert version(tmp_path / "b" / "app_runtime") == version(tmp_path / "b" / "app_runtime_static") != ""


def test_pkg_config_finds_it(installed, tmp_path):
    tool("pkg-config")
    (tmp_path / "main.c").write_text(MAIN)
    folder = next(installed.rglob("tilewright-runtime.pc")).parent
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "tilewright-runtime"], check=True, text=True,
                           env=os.environ | {"PKG_CONFIG_PATH": str(folder)}, capture_output=True).stdout.split()
    subprocess.run(["gcc", "main.c", *flags, "-o", "app"], cwd=tmp_path, check=True)
    assert version(tmp_path / "app", LD_LIBRARY_PATH=str(folder.parent)) != ""
