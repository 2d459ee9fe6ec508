# SPDX-License-Identifier: Apache-2.0
"""Whole convolution layers against ONNX Runtime and OpenVINO: f32, batch 1, one thread, NCHW in and out.

Ours is the sum over taps as it stands (direct) and, where that fits, Winograd's F(4x4, 3x3), which rounds otherwise.
Layers are those of the TVM paper's table 2; X8 is the same layer eight times in a row with other weights each
time. Below 0.3 ms the time of an empty model through the peer's binding is taken off the peer's.
"""
import sys

import contest
from stats import geomean, interval

#        size in_channels out_channels kernel stride, border of kernel // 2
CONV = {"C1": (224, 3, 64, 7, 2), "C2": (56, 64, 64, 3, 1), "C3": (56, 64, 64, 1, 1), "C4": (56, 64, 128, 3, 2),
        "C5": (56, 64, 128, 1, 2), "C6": (28, 128, 128, 3, 1), "C7": (28, 128, 256, 3, 2), "C8": (28, 128, 256, 1, 2),
        "C9": (14, 256, 256, 3, 1), "C10": (14, 256, 512, 3, 2), "C11": (14, 256, 512, 1, 2), "C12": (7, 512, 512, 3, 1)}
DEPTHWISE = {"D1": (112, 32, 32, 3, 1), "D2": (112, 64, 64, 3, 2), "D3": (56, 128, 128, 3, 1),
             "D4": (56, 128, 128, 3, 2), "D5": (28, 256, 256, 3, 1), "D6": (28, 256, 256, 3, 2),
             "D7": (14, 512, 512, 3, 1), "D8": (14, 512, 512, 3, 2), "D9": (7, 1024, 1024, 3, 1)}
ENGINES = ["onnxruntime", "openvino"]
SHORT = 3e-4  # seconds


def repeats(layers):
    """Each layer once, and those whose output fits their input eight times."""
    for name, (_, c, oc, _, stride) in layers.items():
        for count in (1, 8) if c == oc and stride == 1 else (1,):
            yield name, count


def write_model(path, layer, groups, count):
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    size, c, oc, k, stride = layer
    rng = np.random.default_rng(0)
    fan = c // groups * k * k
    weights = [(rng.standard_normal((oc, c // groups, k, k)) / fan ** 0.5).astype(np.float32) for _ in range(count)]
    names = ["x", *(f"t{i}" for i in range(1, count)), "y"]
    nodes = [helper.make_node("Conv", [names[i], f"w{i}"], [names[i + 1]], kernel_shape=[k, k], strides=[stride] * 2,
                              pads=[k // 2] * 4, group=groups) for i in range(count)]
    tensor = lambda name, channels, n: helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, channels, n, n))
    out = (size + 2 * (k // 2) - k) // stride + 1
    save(path, nodes, tensor("x", c, size), tensor("y", oc, out),
         [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)])
    np.savez(path.with_suffix(".npz"), x=rng.standard_normal((1, c, size, size), dtype=np.float32))


def write_empty(path):
    import numpy as np
    from onnx import TensorProto, helper
    tensor = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, (1,))
    save(path, [helper.make_node("Relu", ["x"], ["y"])], tensor("x"), tensor("y"), [])
    np.savez(path.with_suffix(".npz"), x=np.zeros(1, np.float32))


def save(path, nodes, x, y, weights):
    import onnx
    from onnx import helper
    graph = helper.make_graph(nodes, path.stem, [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def contend(models, name, count, layer, groups, overhead, probe, rounds):
    model = models / f"{name}X{count}.onnx"
    write_model(model, layer, groups, count)
    ours = lambda method: contest.Worker([contest.PROGRAMS / "layer_worker", name, str(count), method])
    workers = {"tilewright": ours("direct")}
    for engine in ENGINES:
        workers[engine] = contest.python_worker("model_worker.py", engine, model)
    if not all(w.ready for w in workers.values()):
        sys.exit(f"{name}: a contender did not start")
    if groups == 1 and layer[3] == 3 and layer[4] == 1:
        workers["winograd"] = ours("winograd")
    present = {n: w for n, w in workers.items() if w.ready}
    disturbed = contest.play(present, probe, rounds)
    seconds = {n: w.time() for n, w in present.items()}
    less = {e: overhead[e] if seconds[e] < SHORT else 0.0 for e in ENGINES}
    best = min(ENGINES, key=lambda e: seconds[e] - less[e])
    row = {"name": name, "count": count, "seconds": seconds, "subtracted": less[best], "best_peer": best,
           "disturbed_rounds": disturbed, "rounds": rounds}
    for n, key in ("tilewright", "direct"), ("winograd", "winograd"):
        if n in present:
            row[key] = {"ratio": (seconds[best] - less[best]) / seconds[n],
                        "interval": interval(present[n].rounds, present[best].rounds, (0.0, less[best]))}
    for w in workers.values():
        w.close()
    return row


def show(row):
    name = row["name"] + (f"X{row['count']}" if row["count"] > 1 else "")
    ratios = "".join(f"  {method} {row[method]['ratio']:.2f}x [{row[method]['interval'][0]:.2f}, "
                     f"{row[method]['interval'][1]:.2f}]" for method in ("direct", "winograd") if method in row)
    print(f"{name:6}" + "".join(f"{e:>11} {1e3 * t:8.4f}" for e, t in row["seconds"].items()) +
          f" ms  against {row['best_peer']}{ratios}  disturbed {row['disturbed_rounds']}/{row['rounds']}", flush=True)


def summarize(kind, rows):
    for method in ("direct", "winograd"):
        for count in (1, 8):
            values = [r[method]["ratio"] for r in rows if r["count"] == count and method in r]
            if values:
                print(f"{kind} x{count} {method}: worst {min(values):.2f}, geometric mean {geomean(values):.2f}",
                      flush=True)


def compare(rounds):
    models = contest.PROGRAMS / "models"
    models.mkdir(parents=True, exist_ok=True)
    write_empty(models / "empty.onnx")
    probe = contest.fma_worker()
    empty = {e: contest.python_worker("model_worker.py", e, models / "empty.onnx") for e in ENGINES}
    contest.play(empty, probe, rounds)
    overhead = {e: w.time() for e, w in empty.items()}
    for w in empty.values():
        w.close()
    print("an empty model: " + "  ".join(f"{e} {1e6 * t:.1f} us" for e, t in overhead.items()))
    results = {"empty_seconds": overhead}
    for kind, layers in ("conv", CONV), ("depthwise", DEPTHWISE):
        rows = []
        for name, count in repeats(layers):
            groups = layers[name][1] if kind == "depthwise" else 1
            row = contend(models, name, count, layers[name], groups, overhead, probe, rounds)
            rows.append(row)
            show(row)
        results[kind] = rows
        summarize(kind, rows)
    probe.close()
    return results
