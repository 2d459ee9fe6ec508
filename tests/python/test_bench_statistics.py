# SPDX-License-Identifier: Apache-2.0
"""The arithmetic behind the figures of `make bench`."""
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
import contest  # noqa: E402
import kernel_shares  # noqa: E402
import plot  # noqa: E402
import race  # noqa: E402
import stats  # noqa: E402


def test_the_20_percent_quantile_is_a_value_that_was_seen():
    assert stats.quantile([5, 1, 4, 2, 3]) == 1
    assert stats.quantile(range(11)) == 2
    assert stats.quantile(range(11), 0.95) == 9
    assert stats.quantile([7]) == 7


def test_geometric_mean():
    assert stats.geomean([2, 8]) == pytest.approx(4)
    assert stats.geomean([0.5, 1, 2]) == pytest.approx(1)


def test_the_interval_of_rounds_without_spread_is_the_ratio():
    assert stats.interval([[1.0, 1.0]] * 10, [[1.5]] * 10) == [1.5, 1.5]


def test_the_interval_draws_whole_rounds():
    """One round of ten is twice as slow for the peer: pooled calls would hide it, drawn rounds show both ends."""
    ours = [[1.0]] * 4
    peer = [[1.0], [1.0], [3.0], [3.0]]
    low, high = stats.interval(ours, peer)
    assert (low, high) == (1.0, 3.0)


def test_the_interval_pairs_the_same_rounds():
    """Rounds in which the machine was slow for both leave the ratio as it is."""
    rounds = [[1.0], [1.0], [4.0], [4.0], [9.0]]
    assert stats.interval(rounds, [[2 * t for t in r] for r in rounds]) == [2.0, 2.0]


def test_the_interval_takes_off_the_empty_call():
    assert stats.interval([[3.0]] * 3, [[5.0]] * 3, (1.0, 2.0)) == [1.5, 1.5]


def test_the_empty_call_is_taken_off_short_times_only():
    assert stats.net(2e-4, 5e-5) == pytest.approx(1.5e-4)
    assert stats.net(3.1e-4, 5e-5) == 3.1e-4
    assert stats.net(1e-5, 5e-5) > 0


def test_a_verdict_names_mean_worst_and_its_better_end():
    v = stats.verdict([(2.0, [1.9, 2.1]), (0.5, [0.4, 0.6])])
    assert v == {"geomean": pytest.approx(1), "worst": 0.5, "worst_at_best": 0.6, "models": 2}


def test_quiet_rounds_count_before_others():
    played = [({"a": [1]}, True), ({"a": [2]}, False), ({"a": [3]}, True), ({"a": [4]}, False)]
    assert contest.chosen_rounds(played, 3) == ([{"a": [2]}, {"a": [4]}, {"a": [1]}], 1)
    assert contest.chosen_rounds(played, 1) == ([{"a": [2]}], 0)


def row(**times):
    return {"contenders": {n: stats.describe(r) for n, r in times.items()}, "raw": times}


def test_the_best_peer_is_chosen_over_all_rounds():
    judged = race.judge(row(tilewright=[[1.0]] * 3, fast_once=[[0.5], [9.0], [9.0]], steady=[[2.0]] * 3), {})
    assert judged["best_peer"] == "fast_once"  # the 20 % quantile is what it can do
    judged = race.judge(row(tilewright=[[1.0]] * 3, slow=[[3.0]] * 3, steady=[[2.0]] * 3), {})
    assert (judged["best_peer"], judged["ratio"]) == ("steady", 2.0)


def test_a_peer_too_far_from_f64_is_not_the_best():
    far = row(tilewright=[[1.0]] * 3, rough=[[0.5]] * 3, exact=[[2.0]] * 3)
    for name, difference in ("tilewright", 0.007), ("rough", 0.01), ("exact", 0.001):
        far["contenders"][name]["difference"] = difference
    judged = race.judge(far, {})
    assert (judged["best_peer"], judged["too_far"]) == ("exact", ["rough"])


def test_without_us_there_is_no_ratio():
    assert "ratio" not in race.judge(row(onnxruntime=[[1.0]]), {})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(race, "BUILD", tmp_path)
    return tmp_path


def test_a_stopped_run_goes_on(folder):
    first = race.Rounds("m-1-f32", {"compiler": 1})
    first.tell("tilewright", {"load_s": 1})
    first.add({"tilewright": [1.0]}, False)
    first.leave("iree")
    with open(first.path, "a") as file:
        file.write('{"times": {"tilewr')  # killed while writing
    again = race.Rounds("m-1-f32", {"compiler": 1})
    assert (again.played, again.left, again.facts) == ([({"tilewright": [1.0]}, False)], {"iree"}, {"tilewright": {"load_s": 1}})
    again.add({"tilewright": [2.0]}, True)
    assert len(race.Rounds("m-1-f32", {"compiler": 1}).played) == 2


def test_another_compiler_starts_anew(folder):
    race.Rounds("m-1-f32", {"compiler": 1}).add({"tilewright": [1.0]}, False)
    assert race.Rounds("m-1-f32", {"compiler": 2}).played == []


def kernel(seconds, fma, memory, product=0.0, flops=1.0, **more):
    return {"seconds": seconds, "fma_seconds": fma, "memory_seconds": memory, "product_flops": product, "flops": flops,
            "name": "k", "types": "t", **more}


def test_kernels_are_bound_by_products_memory_or_other_arithmetic():
    assert kernel_shares.kind(kernel(1, 0.5, 0.1, product=0.9)) == "product"
    assert kernel_shares.kind(kernel(1, 0.5, 0.1, product=0.1)) == "arithmetic"
    assert kernel_shares.kind(kernel(1, 0.1, 0.5, product=0.9)) == "memory"


def test_shares_are_weighted_by_time():
    kernels = [kernel(3, 3, 0, product=1), kernel(1, 0.2, 0, product=1), kernel(2, 0, 1)]
    summary = kernel_shares.summary({"kernels": kernels, "fma_rate": 1, "memory": [], "seconds": 6})
    assert summary["product"] == {"share": pytest.approx(0.8), "seconds": 4}
    assert summary["memory"] == {"share": pytest.approx(0.5), "seconds": 2}
    assert summary["arithmetic"]["share"] is None
    assert summary["share"] == pytest.approx(4.2 / 6)


def test_models_weigh_the_same_whatever_they_take():
    part = lambda share, seconds: {"share": share, "seconds": seconds}
    nothing = part(None, 0.0)
    of = lambda share, seconds: {"seconds": seconds, "product": part(share, seconds), "memory": nothing, "arithmetic": nothing}
    assert kernel_shares.over_models([of(1.0, 100), of(0.5, 1)]) == {"product": pytest.approx(0.75), "memory": None, "arithmetic": None}


def test_the_worst_kernels_are_those_that_lose_most_together():
    kernels = [kernel(1, 0.5, 0, name="a"), kernel(1, 0.5, 0, name="a"), kernel(2, 1.2, 0, name="b"), kernel(9, 9, 0, name="c")]
    worst = kernel_shares.worst({"kernels": kernels}, 2)
    assert [(g["name"], g["count"], g["seconds"], g["roof"]) for g in worst] == [("a", 2, 2, 1), ("b", 1, 2, 1.2)]


def test_a_chart_is_xml_with_a_bar_for_each_ratio():
    from xml.etree import ElementTree
    text = plot.chart("a < b", {"m": {1: (1.25, (1.2, 1.3)), 2: (0.5, (0.4, 0.6))}})
    root = ElementTree.fromstring(text)
    labels = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a < b", "m", "1.25", "0.50"} <= set(labels)
