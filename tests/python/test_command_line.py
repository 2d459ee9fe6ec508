# SPDX-License-Identifier: Apache-2.0
"""The program `tilewright`: its commands as a user types them."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest

import tilewright

PROGRAM = next((p for p in (pathlib.Path(tilewright.__file__).parent / "bin/tilewright",
                            pathlib.Path(tilewright.__file__).parents[2] / "tilewright") if p.exists()), None)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="the program is not built")


@pytest.fixture
def tw(tmp_path):
    """Runs the program in a folder of its own, with a cache of its own."""
    env = {**os.environ, "TILEWRIGHT_CACHE": str(tmp_path / "cache"), "TILEWRIGHT_PYTHON": sys.executable}

    def run(*args, status=0, **more):
        result = subprocess.run([PROGRAM, *map(str, args)], cwd=tmp_path, env={**env, **more}, text=True,
                                capture_output=True, timeout=300)
        assert result.returncode == status, result.stdout + result.stderr
        return result.stdout + result.stderr
    return run


@pytest.fixture
def affine_file(affine, tmp_path):
    onnx.save(affine, tmp_path / "affine.onnx")
    np.savez(tmp_path / "in.npz", x=np.array([[1, 2, 3], [-1, 0, 2]], np.float32), b=np.arange(4, dtype=np.float32))
    return "affine.onnx"


def test_help_names_every_command(tw):
    for command in ("compile", "run", "bench", "check", "explain", "tune", "records", "opt", "targets", "cache",
                    "completion"):
        assert command in tw("--help")
        assert "Usage" in tw(command, "--help") or "tilewright" in tw(command, "--help")


def test_tuning_leaves_records_that_compile_uses(tw, tmp_path):
    (tmp_path / "model.tw").write_text(
        "constant %a: f32[48, 64] = splat 0.5\ngraph main(%x: f32[32, 48]) {\n"
        "  %p: f32[32, 64] = matmul(%x, %a)\n  %y: f32[32, 64] = relu(%p)\n  return %y\n}\n")
    assert "driver.records.untuned" not in tw("tune", "model.tw", "--budget", "4trials", "--records", "r.db")
    assert "matmul_relu" in tw("records", "list", "r.db")
    tw("records", "export", "r.db", "-o", "lines.json")
    lines = [json.loads(line) for line in (tmp_path / "lines.json").read_text().splitlines()]
    assert sum("record" in line for line in lines) >= 4
    assert "0 were there" in tw("records", "import", "other.db", "lines.json")
    assert "0 records added" in tw("records", "merge", "r.db", "other.db")
    tw("compile", "model.tw", "--records", "other.db", "--require-records", "-o", "model.twm")
    assert "schedule: tuned" in tw("explain", "model.tw", "--records", "r.db", "--seconds", "0.01")
    assert "schedule: untuned" in tw("explain", "model.tw", "--seconds", "0.01")
    tw("records", "prune", "r.db", "--keep", "0")
    (tmp_path / "empty.db").write_bytes(b"")
    assert "tune.records.foreign" in tw("compile", "model.tw", "--records", "empty.db", "-o", "x.twm", status=1)


def test_the_cache_is_shown_used_and_cleared(tw, affine_file, tmp_path):
    tw("compile", affine_file, "-o", "a.twm", "--no-cache")
    assert "1 entries" in tw("cache")  # what was measured of the machine
    tw("compile", affine_file, "-o", "b.twm")
    assert "2 entries" in tw("cache") and str(tmp_path / "cache") in tw("cache")
    tw("compile", affine_file, "-o", "c.twm")
    modules = [(tmp_path / f"{n}.twm").read_bytes() for n in "abc"]
    assert modules[0] == modules[1] == modules[2]
    assert "removed 2 entries" in tw("cache", "clear")
    assert "0 entries" in tw("cache", "show")


def test_memory_of_free_sizes_is_told_for_likely_ones(tw, model, tmp_path):
    """Of the sums one is made while another is read."""
    onnx.save(model("g (float[n, m] x) => (float[n, m] y) <int64 i = {0}> { a = CumSum(x, i) b = CumSum(a, i) y = CumSum(b, i) }"), tmp_path / "free.onnx")
    assert "0.001 MB where n = 1, m = 128: m * n * 8" in tw("compile", "free.onnx", "-o", "f.twm", "-v")


def test_without_the_memory_plan_values_have_places_of_their_own(tw, model, tmp_path):
    """Three values of 4 kB live one after the other; at most two at once."""
    onnx.save(model("g (float[1000] x) => (float[1000] y) { a = Exp(x) b = Relu(a) c = Tanh(b) y = Exp(c) }"), tmp_path / "chain.onnx")
    np.savez(tmp_path / "x.npz", x=np.linspace(-1, 1, 1000, dtype=np.float32))
    assert "arena 0.008 MB" in tw("compile", "chain.onnx", "-o", "a.twm", "-v", "--skip", "fuse")
    assert "arena 0.012 MB" in tw("compile", "chain.onnx", "-o", "b.twm", "-v", "--skip", "fuse", "--skip", "memory_plan")
    for name in "ab":
        tw("run", f"{name}.twm", "--inputs", "x.npz", "--outputs", f"{name}.npz")
    np.testing.assert_array_equal(*(np.load(tmp_path / f"{name}.npz")["y"] for name in "ab"))


def test_a_cache_that_others_can_write_is_not_used(tw, affine_file, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    tw("compile", affine_file, "-o", "a.twm")
    assert "It is not used" in tw("cache")


def test_explain_says_what_was_fused_and_why(tw, affine_file):
    text = tw("explain", affine_file, "--inputs", "in.npz", "--seconds", 0.01)
    assert "matmul_add_relu" in text
    assert "`relu` works element by element on the result of `matmul`" in text
    assert "GFLOP/s" in text and "% " in text


def test_explain_tells_parts_from_what_they_lie_in(tw, tmp_path):
    """Two results written where a concat wants them live as long as that, and count once."""
    weights = [onnx.numpy_helper.from_array(np.full((16, cin, 1, 1), value, np.float32), name)
               for name, cin, value in (("p", 3, 0.1), ("q", 3, 0.2), ("r", 32, 0.3))]
    node = onnx.helper.make_node
    nodes = [node("Conv", ["x", "p"], ["a"]), node("Conv", ["x", "q"], ["b"]),
             node("Concat", ["a", "b"], ["c"], axis=1), node("Conv", ["c", "r"], ["y"])]
    info = lambda name, channels: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, channels, 8, 8])
    graph = onnx.helper.make_graph(nodes, "g", [info("x", 3)], [info("y", 16)], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8), tmp_path / "m.onnx")
    text = tw("explain", "m.onnx", "--seconds", 0.01, "--threads", 1)
    lines = {words[4].rstrip(":"): words for words in map(str.split, text.splitlines()) if len(words) > 4 and words[4] in ("a:", "b:", "c:")}
    assert [lines[v][:2] for v in "abc"] == [["0", "2"]] * 3
    assert text.count("a part of c") == 2
    assert "at most 0.01 MB of it live at once" in text  # 32 * 8 * 8 floats


def test_explain_takes_a_module(tw, affine_file):
    tw("compile", affine_file, "-o", "a.twm")
    assert "matmul_add_relu" in tw("explain", "a.twm", "--inputs", "in.npz", "--seconds", 0.01)


@pytest.fixture
def two_kernels(model, tmp_path):
    """Two convolutions, of which the second cannot join the first; hostile names."""
    m = model("""g (float[1, 2, 8, 8] x) => (float[1, 4, 4, 4] y)
        <int64[4] ws = {4, 2, 3, 3}, int64[4] vs = {4, 4, 3, 3}> {
          w = ConstantOfShape <value = float[1] {0.5}> (ws)
          a = Conv <pads = [1, 1, 1, 1]> (x, w)
          b = Relu (a)
          v = ConstantOfShape <value = float[1] {0.25}> (vs)
          y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (b, v) }""")
    m.graph.node[2].name = "</script><img src=x onerror=alert(1)>"
    onnx.save(m, tmp_path / "two.onnx")
    return "two.onnx"


def page_data(page):
    start = page.index("const D = ") + len("const D = ")
    return json.JSONDecoder().raw_decode(page[start:])[0]


def test_explain_knows_kernels_for_chosen_sizes(tw, model, tmp_path):
    """Every step is told by the operators that it computes, also where a kernel has variants."""
    onnx.save(model("g (float[n, 8] x) => (float[n, 8] y) { a = Exp (x) b = Softmax (a) y = Relu (b) }"), tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", x=np.ones((4, 8), np.float32))
    sizes = ["--dim", "n=1..16:1,4", "--skip", "fuse", "--inputs", "in.npz", "--seconds", 0.01]
    tw("explain", "m.onnx", *sizes, "--html", "r.html")
    steps = page_data((tmp_path / "r.html").read_text())["steps"]
    assert len(steps) == 9
    for step in steps:
        assert step["name"].split()[0] == step["members"][0][0]
        assert step["calls"] == int(step["name"].endswith(" n=4"))
    assert tw("explain", "m.onnx", *sizes).count("not called for these sizes") == 6


def test_the_page_is_whole_and_needs_nothing_else(tw, two_kernels, tmp_path):
    tw("explain", two_kernels, "--html", "r.html", "--seconds", 0.01)
    page = (tmp_path / "r.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https://" not in page
    assert page.count("</script>") == 1  # names of the model are data
    data = page_data(page)
    kernels = [s for s in data["steps"] if not s["host"]]
    assert [s["name"] for s in kernels] == ["conv_relu", "conv"]
    assert kernels[0]["calls"] == 1 and kernels[0]["ms"] > 0 and kernels[0]["share"] > 0
    # 2 flops for each of 9 * 2 taps of 4 * 64 results, and one for each relu
    assert kernels[0]["flops"] == 2 * 9 * 2 * 4 * 64 + 4 * 64
    assert any("not together with" in r for r in kernels[1]["reasons"])
    placed = [v for v in data["values"] if v["offset"] is not None]
    assert [(v["name"], v["bytes"], v["first"], v["last"]) for v in placed] == [("b", 1024, 0, 1)]
    assert data["arena_bytes"] >= 1024 and data["live_bytes"] == 1024


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_page_works_in_a_browser(tw, two_kernels, tmp_path):
    tw("explain", two_kernels, "--html", "r.html", "--seconds", 0.01)
    page = (tmp_path / "r.html").read_text()
    click = """<script>
      const g = document.querySelector('#graph .node[data-step="0"]');
      g.dispatchEvent(new MouseEvent('click', {bubbles: true}));
      document.body.dataset.fromGraph = document.querySelector('#details').textContent;
      document.querySelector('#kernels tr[data-step="1"]').click();
      document.body.dataset.fromTable = document.querySelector('#details').textContent;
      document.querySelector('#memory rect').dispatchEvent(new MouseEvent('click', {bubbles: true}));
      document.body.dataset.fromMemory = document.querySelector('#details').textContent;
      document.querySelector('#graph').dispatchEvent(new WheelEvent('wheel', {deltaY: -300}));
      document.body.dataset.zoomed = document.querySelector('#graph > g').getAttribute('transform');
    </script></body>"""
    (tmp_path / "clicked.html").write_text(page.replace("</body>", click))
    dom = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile",
                          "--virtual-time-budget=5000", "--dump-dom", (tmp_path / "clicked.html").as_uri()],
                         capture_output=True, text=True, timeout=120).stdout
    head = dom[:dom.index("<head")]
    assert 'data-ready="1"' in head and "data-error" not in head, head
    body = dom[dom.index("<body"):dom.index(">", dom.index("<body"))]
    assert "conv_relu (step 0)" in body and "`relu` works element by element" in body
    assert "conv (step 1)" in body and "not together with" in body
    assert "from step 0, conv_relu" in body
    assert dom.count('class="node') == 4  # two kernels, the input and the output
    assert "scale(1)" not in body and "scale(" in body


@pytest.fixture
def tuning_page(tw, two_kernels, tmp_path):
    """What tuning prints, and its page; the model's name is hostile."""
    name = "<i>two&.onnx"
    (tmp_path / two_kernels).rename(tmp_path / name)
    return tw("tune", name, "--budget", "10trials", "--records", "r.db", "--report", "r.html"), tmp_path / "r.html"


def rows_of(page):
    """The cells of the table as the tags say, header and all."""
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)]


def test_the_page_of_tuning_is_whole_and_needs_nothing_else(tuning_page):
    text, path = tuning_page
    page = path.read_text()
    assert "<script" not in page and "http" not in page.replace("http-equiv", "") and "default-src 'none'" in page
    assert "<h1>&lt;i&gt;two&amp;.onnx: " in page and "<i>" not in page
    trials = int(re.search(r"^(\d+) trials", text, re.MULTILINE)[1])
    assert trials >= 10 and f"{trials} trials, 0 of them failed" in page
    header, *kernels = rows_of(page)
    assert header[0] == "kernel" and all(len(k) == len(header) for k in kernels)
    assert sorted(k[0] for k in kernels) == ["conv", "conv_relu"]
    assert abs(sum(float(k[1].removesuffix(" %")) for k in kernels) - 100) < 1
    assert sum(int(k[2]) for k in kernels) == trials
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        width, height = (int(re.search(rf'{side}="(\d+)"', svg)[1]) for side in ("width", "height"))
        for points in re.findall(r'points="([^"]*)"', svg):
            assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in (p.split(",") for p in points.split()))


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_page_of_tuning_works_in_a_browser(tuning_page, tmp_path):
    _, path = tuning_page
    dom = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile",
                          "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120).stdout
    # What the browser made of it is what was written.
    assert [row[0] for row in rows_of(dom)] == [row[0] for row in rows_of(path.read_text())]
    assert dom.count("<polyline") == path.read_text().count("<polyline") > 0


def test_bench_writes_a_chrome_trace(tw, affine_file, tmp_path):
    tw("bench", affine_file, "--inputs", "in.npz", "--seconds", 0.01, "--trace", "t.json", "--json", "b.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "X"] == ["matmul_add_relu"]
    assert json.loads((tmp_path / "b.json").read_text())["kernels"][0]["calls"] == 1


@pytest.mark.parametrize("against", ["reference", "onnxruntime"])
def test_check_compares(tw, affine_file, tmp_path, against):
    assert "equal" in tw("check", affine_file, "--inputs", "in.npz", "--against", against)
    assert not list(tmp_path.glob("repro*"))


def test_check_writes_the_first_wrong_operator(tw, affine_file, tmp_path):
    # No sum of products is as exact as that.
    np.savez(tmp_path / "in.npz", x=np.random.default_rng(1).random((64, 3), np.float32) / 3,
             b=np.random.default_rng(2).random(4, np.float32) / 3)
    text = tw("check", affine_file, "--inputs", "in.npz", "--against", "onnxruntime", "--tolerance", "-1", status=3)
    assert "the first wrong value is `p`, made by MatMul" in text and "repro.tw" in text
    repro = (tmp_path / "repro.tw").read_text()
    assert "= matmul(" in repro and "relu" not in repro.split("graph")[-1]
    assert set(np.load(tmp_path / "repro.npz")) == {"x"}
    assert "equal" in tw("check", "repro.tw", "--inputs", "repro.npz")


def test_check_says_how_to_get_onnxruntime(tw, affine_file):
    text = tw("check", affine_file, "--inputs", "in.npz", "--against", "onnxruntime", status=1,
              TILEWRIGHT_PYTHON="/no/such/python")
    assert "/no/such/python" in text and "pip install onnxruntime" in text


def test_an_output_has_the_users_name(tw, model, tmp_path):
    onnx.save(model("g (float[2] x) => (float[2] y, float[2] z) { y = Identity(x) z = Identity(x) }"), tmp_path / "i.onnx")
    np.savez(tmp_path / "in.npz", x=np.array([1, 2], np.float32))
    tw("run", "i.onnx", "--inputs", "in.npz", "--outputs", "out.npz")
    assert set(np.load(tmp_path / "out.npz")) == {"y", "z"}


def test_mistakes_with_dimensions_are_named(tw, affine_file):
    for dims, words in ({"batch=1": 0, "batch=2": 0}, "`batch=2` says again what `batch` is"), ({"batch=1..9223372036854775807": 0}, "2147483647"):
        arguments = [word for dim in dims for word in ("--dim", dim)]
        assert words in tw("compile", affine_file, *arguments, "-o", "x.twm", status=1)


def test_a_folder_that_is_not_there_is_named(tw, affine_file):
    for option, file in ("-o", "d/sub/x.twm"), ("--emit-c", "d/sub"), ("--emit-library", "d/sub/libx.so"):
        assert "there is no folder `d/sub`" in tw("compile", affine_file, option, file, "--dim", "batch=2", status=1)


def test_bash_completes_commands_and_options(tw, tmp_path):
    (tmp_path / "c.sh").write_text(tw("completion", "bash") + """
        complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tilewright; echo "${COMPREPLY[@]}"; }
        complete_words tilewright co
        complete_words tilewright bench --trac""")
    out = subprocess.run(["bash", tmp_path / "c.sh"], capture_output=True, text=True).stdout.splitlines()
    assert out == ["compile completion", "--trace"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_command(tw, tmp_path, shell):
    script = tw("completion", shell)
    for name in ("explain", "--html" if shell == "zsh" else "-l html", "cache"):
        assert name in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)
