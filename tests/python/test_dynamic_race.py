# SPDX-License-Identifier: Apache-2.0
"""The race on models with free dimensions: what it makes of sizes, refusals, differences and times."""
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
import contest  # noqa: E402
import dynamic_race  # noqa: E402
import dynamic_report  # noqa: E402
import engines  # noqa: E402
import race  # noqa: E402
import serve  # noqa: E402
import stats  # noqa: E402
import zoo_dynamic  # noqa: E402


def test_every_model_has_three_sizes_or_none_that_is_free():
    for name in zoo_dynamic.NAMES:
        sizes = zoo_dynamic.sizes(name)
        own = [s for s in sizes if s not in zoo_dynamic.larger(name)]
        assert own == ["fixed"] or len(own) == 3, name
        assert all(sizes[s]["batch"] in zoo_dynamic.BATCHES for s in zoo_dynamic.larger(name))


def test_at_least_five_models_are_raced_in_larger_batches():
    larger = {n: list(zoo_dynamic.larger(n)) for n in zoo_dynamic.NAMES if zoo_dynamic.larger(n)}
    assert len(larger) >= 5
    assert larger["bert-dynamo"] == ["8x17", "32x17"]


def test_inputs_of_a_size_have_that_size():
    inputs = zoo_dynamic.source("llama-script").inputs(batch=1, length=2, past=3)
    assert (inputs["ids"].shape, inputs["mask"].shape, inputs["past_v3"].shape) == ((1, 2), (1, 5), (1, 2, 3, 64))
    assert zoo_dynamic.label({"batch": 1, "length": 2, "past": 3}) == "1x2x3"


def test_dimensions_are_called_what_our_compiler_calls_them(tmp_path):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, None, "?"])
    weight = helper.make_tensor_value_info("w", TensorProto.FLOAT, ["some"])
    default = helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x, weight], [helper.make_empty_tensor_value_info("y")], [default])
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    assert zoo_dynamic.dims(tmp_path / "m.onnx", {"x": np.zeros((4, 3, 5, 6))}) == {"batch": 4, "x_2": 5, "x_3": 6}


def test_the_compiler_says_which_kernels_are_plain():
    said = "warning: kernel `conv_relu` runs as plain loops: error[x]: no `k`\nwarning: the record of kernel `a` is not used: old\n"
    assert engines.PLAIN.findall(said) == [("conv_relu", "error[x]: no `k`")]


def test_a_reason_is_one_line_without_the_engines_own_source():
    said = "Exception from src/inference/src/cpp/core.cpp:99:\nCheck 'ok' failed at src/a.cpp:7:\nno such\n  operator"
    assert engines.one_line(said) == "no such operator"


def test_a_server_of_several_sizes_calls_the_one_it_is_asked_for(monkeypatch):
    called, out = [], io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO("0 a\n0 b\n"))
    serve.serve({"a": lambda: called.append("a"), "b": lambda: called.append("b")}, {"load_s": 1}, out)
    ready, *times = out.getvalue().splitlines()
    assert ready == 'ready {"load_s": 1}'
    assert (called, [len(t.split()) for t in times]) == (["a"] * 3 + ["b"] * 3, [2, 2])


def row(differences={}, **times):
    """Times in milliseconds; `fixed` is ours of just that size."""
    raw = {{"free": "tilewright", "fixed": "tilewright fixed"}.get(n, n): [[1e-3 * t]] * 3 for n, t in times.items()}
    contenders = {n: stats.describe(r) | {"difference": differences.get(n, 0.0), "from": "f64"} for n, r in raw.items()}
    return {"contenders": contenders, "absent": {}, "rounds": 3, "disturbed": 0, "raw": raw}


def test_free_is_compared_with_fixed_and_with_the_best_peer():
    judged = dynamic_race.judge(row(free=2, fixed=1, onnxruntime=5, openvino=3), {})
    assert judged["slower"] == {"ratio": 2.0, "interval": [2.0, 2.0]}
    assert judged["faster"] == {"ratio": 1.5, "interval": [1.5, 1.5], "peer": "openvino"}
    assert judged["counts"]


def test_wrong_numbers_win_nothing():
    judged = dynamic_race.judge(row({"openvino": 0.1}, free=2, onnxruntime=5, openvino=1), {})
    assert (judged["wrong"], judged["faster"]["peer"]) == (["openvino"], "onnxruntime")
    judged = dynamic_race.judge(row({"tilewright": float("nan")}, free=2, fixed=2, onnxruntime=5), {})
    assert judged["wrong"] == ["tilewright"] and "faster" not in judged and "slower" not in judged


def test_a_row_that_is_mostly_the_call_does_not_count():
    empty = {"tilewright": 5e-6, "onnxruntime": 5e-6}
    assert not dynamic_race.judge(row(free=0.008, fixed=0.02, onnxruntime=0.1), empty)["counts"]
    assert dynamic_race.judge(row(free=0.012, fixed=0.02, onnxruntime=0.1), empty)["counts"]


def test_a_model_without_free_dimensions_has_no_other_module():
    assert dynamic_race.contenders(["fixed"], ["tilewright", "openvino"]) == ["tilewright", "openvino"]
    assert dynamic_race.contenders(["1", "2"], ["tilewright"]) == ["tilewright", "tilewright fixed"]


class FakeWorker:
    """An engine that answers at once; it refuses the sizes in `refused`, and dies when it is timed at `dies`."""

    def __init__(self, facts={}, refused=(), dies=None, refusal=None):
        self.ready, self.refusal = refusal is None, refusal
        self.facts = {"all": facts, "sizes": {s: {"refusal": "error: no"} if s in refused else {} for s in ("1", "2")}}
        self.process, self.dies, self.closed = SimpleNamespace(pid=os.getpid()), dies, False

    def ask(self, line):
        seconds, name = line.split()
        return None if name == self.dies and float(seconds) else "0.001 0.001"

    def slice(self, seconds=0):
        return [1e-6]

    def close(self):
        self.closed = True


@pytest.fixture
def raced(tmp_path, monkeypatch):
    """Plays fake engines at the sizes 1 and 2; those that answer give [1, 2, 3], or what `results` says."""
    def play(workers, results={}):
        def start(name, model, sizes, threads, outputs):
            for size in sizes:
                np.savez(outputs / f"{dynamic_race.ENGINES[name]}@{size}.npz", **{"0": np.array(results.get(name, [1.0, 2.0, 3.0]))})
            return workers[name]
        monkeypatch.setattr(dynamic_race, "start", start)
        states = {s: race.Rounds(f"m-{s}", {}) for s in ("1", "2")}
        dynamic_race.play(tmp_path / "m.onnx", 1, list(workers), 2, states, lambda step: None)
        assert all(w.closed for w in workers.values())
        return {s: dynamic_race.judge(race.row(state, 2), {}) for s, state in states.items()}
    monkeypatch.setattr(race, "BUILD", tmp_path)
    monkeypatch.setattr(race, "reference_of", lambda model, inputs: None)
    monkeypatch.setattr(contest, "fma_worker", lambda threads: FakeWorker())
    monkeypatch.setattr(dynamic_race, "SLICE", 0.001)
    return play


def test_who_refuses_a_model_is_told_and_the_others_race(raced):
    rows = raced({"tilewright": FakeWorker(), "onnxruntime": FakeWorker(), "openvino": FakeWorker(refusal="error no such operator")})
    assert rows["1"]["absent"] == {"openvino": "error no such operator"}
    assert rows["2"]["faster"]["peer"] == "onnxruntime"


def test_who_refuses_one_size_races_at_the_others(raced):
    rows = raced({"tilewright": FakeWorker({"compile_s": 2.0}, refused=["2"]), "onnxruntime": FakeWorker()})
    assert rows["1"]["contenders"]["tilewright"]["compile_s"] == 2.0
    assert rows["1"]["absent"] == {} and "faster" in rows["1"]
    assert rows["2"]["absent"] == {"tilewright": "error: no"} and "faster" not in rows["2"]


def test_who_dies_leaves_the_others_alone(raced):
    rows = raced({"tilewright": FakeWorker(), "onnxruntime": FakeWorker(dies="1"), "openvino": FakeWorker()})
    assert rows["1"]["absent"] == {"onnxruntime": "error: it ended while it was timed"}
    assert rows["1"]["faster"]["peer"] == "openvino"


def test_results_are_compared_with_onnxruntimes(raced):
    rows = raced({"tilewright": FakeWorker(), "onnxruntime": FakeWorker(), "openvino": FakeWorker()}, {"openvino": [1.0, 2.0, 3.3]})
    differences = {n: (c["difference"], c["from"]) for n, c in rows["1"]["contenders"].items()}
    assert differences == {"tilewright": (0.0, "onnxruntime"), "onnxruntime": (0.0, "onnxruntime"),
                           "openvino": (pytest.approx(0.1), "onnxruntime")}
    assert rows["1"]["wrong"] == ["openvino"]


def judged(**more):
    return dynamic_race.judge(row(free=2, fixed=1, onnxruntime=3) | more, {})


def test_the_report_has_means_worst_rows_and_refusals():
    fast, slow = judged(), dynamic_race.judge(row(free=8, fixed=1, onnxruntime=3), {})
    refused = dynamic_race.judge(row(onnxruntime=3) | {"absent": {"tilewright": "error[a.b]: no"}}, {})
    text = "\n".join(dynamic_report.markdown({"bert-dynamo": {"1": {"1x17": fast, "8x17": slow}}, "vit-script": {"1": {"1": refused}}}))
    assert "| all | **4.00** of 2 | 8.00 (bert-dynamo 8x17, at best 8.00) | **0.75** of 2 | 0.38 (bert-dynamo 8x17, at best 0.38) |" in text
    assert "| of them, batches of 8 and 32 | **8.00** of 1 |" in text
    assert "| vit-script | 1 | – | – | refused | 3 | – | refused | 0/3 |" in text
    assert "- tilewright: vit-script 1: error[a.b]: no" in text


def test_the_report_counts_plain_kernels_of_a_module_once():
    one = judged()
    one["contenders"]["tilewright"] |= {"plain": [["conv", "no tile"], ["conv", "no tile"]], "compile_s": 4.0, "file_mb": 1.0}
    one["contenders"]["tilewright fixed"] |= {"plain": [["relu", "odd"]], "compile_s": 2.0}
    text = "\n".join(dynamic_report.markdown({"vit-script": {"1": {"1": one}, "2": {"1": one}}}))
    assert "**2** in modules for all sizes, 1 in modules for one size." in text
    assert "| vit-script | free | `conv` | 2 | no tile |" in text
    assert "| vit-script | 4.00 | 2.00 | 2.00 | 1.0 |" in text


def test_nothing_raced_is_nothing_reported():
    assert dynamic_report.markdown({}) == []
