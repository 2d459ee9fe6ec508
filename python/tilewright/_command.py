# SPDX-License-Identifier: Apache-2.0
"""The command `tilewright` of an installed wheel: the program that lies in the package."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(__file__), "bin", "tilewright")
    os.execv(program, [program, *sys.argv[1:]])
