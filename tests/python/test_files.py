# SPDX-License-Identifier: Apache-2.0
"""No command of `tilewright` loses a file: not its inputs, and not what was there when writing fails."""
import os
import re
import resource
import signal
import subprocess

import numpy as np
import onnx
import pytest

import tilewright
from test_command_line import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="the program is not built")

TE = """te matmul(A: f32[32, 8], B: f32[8, 32]) {
  C[y in 32, x in 32] = sum(k in 8) A[y, k] * B[k, x]
  return C
}
"""


# Each command with its inputs in capital letters; the outputs come of its help.
COMMANDS = {
    "compile": ["compile", "MODEL"],
    "compile.tw": ["compile", "TEXT"],
    "run": ["run", "MODEL", "--inputs", "NPZ"],
    "bench": ["bench", "MODEL", "--inputs", "NPZ", "--seconds", "0.01"],
    "check": ["check", "MODEL", "--inputs", "NPZ", "--tolerance", "-1"],
    "explain": ["explain", "MODEL", "--inputs", "NPZ", "--seconds", "0.01"],
    "tune": ["tune", "MODEL", "--inputs", "NPZ", "--budget", "1trials", "--records", "RECORDS"],
    "opt": ["opt", "TEXT"],
    "records list": ["records", "list", "RECORDS"],
    "records best": ["records", "best", "RECORDS"],
    "records export": ["records", "export", "RECORDS"],
    "records prune": ["records", "prune", "RECORDS"],
}
# Of a command, the commands of the same program that its help names but that write and read no file of the user.
WITHOUT_FILES = {"targets", "cache", "completion"}
# Options whose files are not named as they are given.
SUFFIX = {"--repro": ".tw", "--emit-library": ".so", "--emit-c": ".c"}


def program(*args, **options):
    return subprocess.run([PROGRAM, *map(str, args)], text=True, capture_output=True, timeout=300, **options)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with one file of every kind that a command reads."""
    folder = tmp_path_factory.mktemp("files")
    os.environ["TILEWRIGHT_CACHE"] = str(folder / "cache")
    weights = onnx.numpy_helper.from_array(np.full((48, 64), 0.5, np.float32), "a")
    ports = [onnx.helper.make_tensor_value_info(name, 1, [32, n]) for name, n in (("x", 48), ("y", 64))]
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "a"], ["y"])], "g", ports[:1], ports[1:], [weights])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9), folder / "model.onnx")
    (folder / "text.tw").write_text(TE)
    np.savez(folder / "in.npz", x=np.random.default_rng(1).random((32, 48), np.float32))
    assert program("tune", "model.onnx", "--budget", "1trials", "--records", "r.db", cwd=folder).returncode == 0
    return folder


NAMES = {"MODEL": "model.onnx", "TEXT": "text.tw", "NPZ": "in.npz", "RECORDS": "r.db"}


def options_of(*command):
    """{option: kind of its value} as the help says."""
    text = program(*command, "--help").stdout
    return dict(re.findall(r"^  (?:-\w,)?(-[\w-]+|[A-Z]+) ([A-Z][A-Z-]*)\b", text, re.MULTILINE))


def commands_of(*command):
    text = program(*command, "--help").stdout
    return re.findall(r"^  ([a-z]+) ", text.split("Subcommands:")[1], re.MULTILINE) if "Subcommands:" in text else []


def test_every_command_and_every_option_with_a_file_is_known_here():
    assert set(commands_of()) - WITHOUT_FILES - {"records"} == {c.split(".")[0] for c in COMMANDS if " " not in c}
    assert {f"records {c}" for c in commands_of("records")} - {"records import", "records merge"} == {c for c in COMMANDS if " " in c}
    for name in COMMANDS:
        for option, kind in options_of(*name.split(".")[0].split()).items():
            text = option in {"--target", "--dim", "--skip", "--precision", "--emit", "--cc", "--against", "--budget", "--pass"}
            number = option in {"--threads", "--seconds", "--seed", "--tolerance", "--keep"}
            assert text or number or kind in ("IN-FILE", "OUT-FILE"), f"{name} {option} {kind}: does it name a file?"


def every_output():
    for name, command in COMMANDS.items():
        for option, kind in options_of(*name.split(".")[0].split()).items() if PROGRAM else []:
            if kind == "OUT-FILE" and (name, option) not in {("compile.tw", "--emit-c"), ("compile.tw", "--emit-library")}:  # no graph
                yield name, command, option


@pytest.mark.parametrize("name, command, option", [pytest.param(*c, id=f"{c[0]} {c[2]}") for c in every_output()])
def test_no_output_replaces_an_input(place, tmp_path, name, command, option):
    """Neither by its name, nor by a link; and nothing is done before that is said."""
    inputs = [NAMES[a] for a in command if a in NAMES]
    for own in inputs:
        before = {f: (place / f).read_bytes() for f in NAMES.values()}
        suffix = SUFFIX.get(option, "")
        (tmp_path / f"soft{suffix}").unlink(missing_ok=True)
        (tmp_path / f"hard{suffix}").unlink(missing_ok=True)
        os.symlink(place / own, tmp_path / f"soft{suffix}")
        os.link(place / own, tmp_path / f"hard{suffix}")
        aliases = [tmp_path / f"soft{suffix}", tmp_path / f"hard{suffix}"]
        if own.endswith(suffix):
            aliases += [own, place / "." / own]
        for alias in aliases:
            given = str(alias).removesuffix(".tw") if option == "--repro" else alias
            done = program(*[NAMES.get(a, a) for a in command], option, given, cwd=place)
            assert done.returncode == 1 and "driver.file.same" in done.stderr, done.stderr + done.stdout
            assert option in done.stderr and done.stdout == ""
        assert before == {f: (place / f).read_bytes() for f in NAMES.values()}


def test_records_are_not_added_to_what_they_come_from(place):
    for command in ("import", "merge"):
        assert "driver.file.same" in program("records", command, "r.db", "./r.db", cwd=place).stderr


def test_two_outputs_are_two_files(place):
    done = program("bench", "model.onnx", "--json", "new", "--trace", "./new", "--seconds", "0.01", cwd=place)
    assert done.returncode == 1 and "--trace would write over --json" in done.stderr
    assert not (place / "new").exists()
    assert program("bench", "model.onnx", "--json", "/dev/null", "--trace", "/dev/null", "--seconds", "0.01", cwd=place).returncode == 0


def test_the_weights_beside_a_model_are_an_input_too(place):
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "w"], ["y"])], "g", [onnx.helper.make_tensor_value_info("x", 1, [2000])],
        [onnx.helper.make_tensor_value_info("y", 1, [2000])], [onnx.numpy_helper.from_array(np.ones(2000, np.float32), "w")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, place / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    before = (place / "m.data").read_bytes()
    done = program("compile", "m.onnx", "-o", "m.data", cwd=place)
    assert done.returncode == 1 and "driver.file.same" in done.stderr and "`m.data`" in done.stderr
    assert (place / "m.data").read_bytes() == before


def test_check_does_not_replace_the_repro_that_it_checks(place, tmp_path):
    assert program("check", place / "model.onnx", "--inputs", place / "in.npz", "--tolerance", "-1", cwd=tmp_path).returncode == 3
    before = (tmp_path / "repro.tw").read_bytes(), (tmp_path / "repro.npz").read_bytes()
    done = program("check", "repro.tw", "--inputs", "repro.npz", "--tolerance", "-1", cwd=tmp_path)
    assert done.returncode == 3 and "repro_of_repro.tw" in done.stdout
    assert before == ((tmp_path / "repro.tw").read_bytes(), (tmp_path / "repro.npz").read_bytes())
    assert (tmp_path / "repro_of_repro.npz").exists()


def no_room(bytes):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, bytes))
    return limit


@pytest.mark.parametrize("name, command, option", [pytest.param(*c, id=f"{c[0]} {c[2]}") for c in every_output()])
def test_a_full_disk_leaves_what_was_there(place, tmp_path, name, command, option):
    if option == "--emit-library":
        pytest.skip("the compiler of C meets the full disk first")
    suffix = SUFFIX.get(option, "")
    target = tmp_path / f"out{suffix}"
    target.write_bytes(b"old")
    given = str(target).removesuffix(".tw") if option == "--repro" else target
    arguments = [place / NAMES[a] if a in NAMES else a for a in command]
    if name == "tune":
        pytest.skip("records and page are on one disk")
    environment = {**os.environ, "TILEWRIGHT_CACHE": "/dev/null/none"}
    done = program(*arguments, option, given, cwd=tmp_path, preexec_fn=no_room(16), env=environment)
    assert done.returncode == 1 and "support.file.write" in done.stderr and "File too large" in done.stderr, done.stderr
    assert target.read_bytes() == b"old" and os.listdir(tmp_path) == [target.name]
    done = program(*arguments, option, given, cwd=tmp_path)
    assert done.returncode in (0, 3) and target.read_bytes() != b"old", done.stderr


PRINTS = [["--help"], ["compile", "--help"], ["targets"], ["cache"], ["completion", "bash"], ["opt", "--list"], ["opt", "TEXT"],
          ["compile", "MODEL", "--emit", "code"], ["compile", "TEXT"], ["run", "MODEL", "--inputs", "NPZ"],
          ["bench", "MODEL", "--seconds", "0.01"], ["explain", "MODEL", "--seconds", "0.01"], ["check", "MODEL", "--inputs", "NPZ"],
          ["tune", "MODEL", "--records", "RECORDS", "--budget", "1trials"], ["records", "list", "RECORDS"],
          ["records", "best", "RECORDS"], ["records", "export", "RECORDS"], ["records", "prune", "RECORDS"]]


@pytest.mark.parametrize("command", PRINTS, ids=" ".join)
def test_text_that_is_lost_is_no_success(place, command):
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, *(NAMES.get(a, a) for a in command)], cwd=place, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "driver.stdout.write" in done.stderr, done.stderr


def test_every_command_prints_somewhere_above():
    assert {c[0] for c in PRINTS} >= set(commands_of())


def test_a_module_is_saved_whole_or_not_at_all(affine, tmp_path):
    path = tmp_path / "a.twm"
    module = tilewright.compile(affine)
    module.save(path)
    before = path.read_bytes()
    os.symlink(path, tmp_path / "link.twm")
    tilewright.load(path).save(tmp_path / "link.twm")  # onto the file that it is mapped from
    assert path.read_bytes() == before and (tmp_path / "link.twm").is_symlink()
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, was[1]))  # Python ignores the signal
    try:
        with pytest.raises(tilewright.Error, match="File too large"):
            module.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)
    assert path.read_bytes() == before and sorted(os.listdir(tmp_path)) == ["a.twm", "link.twm"]
    with pytest.raises(tilewright.Error, match="there is no folder"):
        module.save(tmp_path / "none" / "a.twm")
