# SPDX-License-Identifier: Apache-2.0
"""Drops nodes from a failing model while it still fails in the same way."""
import numpy as np
import onnx
from onnx import helper

import worker_pool
from check import check, values_of
from graph import names_read


def attempt(task):
    model, feeds = onnx.ModelProto.FromString(task[0]), task[1]
    try:
        return check(model, feeds)
    except Exception:  # noqa: BLE001 -- no valid model any more
        return ""


def kind(problem):
    return problem.split(":")[0]


def without(model, feeds, values, drop):
    """The model without some nodes: what they gave becomes an input, what nobody gives or reads goes."""
    small = onnx.ModelProto()
    small.CopyFrom(model)
    graph = small.graph
    kept = [n for i, n in enumerate(graph.node) if i not in drop]
    del graph.node[:]
    graph.node.extend(kept)
    made = {n for node in kept for n in node.output} | {t.name for t in graph.initializer}
    outputs = [o for o in graph.output if o.name in made]
    del graph.output[:]
    read = set(names_read(graph.node))
    outputs += [onnx.ValueInfoProto(name=n) for node in kept for n in node.output
                if n and n not in read and n not in {o.name for o in outputs}]
    for o in outputs:
        if not isinstance(values.get(o.name), np.ndarray):
            return None
        o.CopyFrom(helper.make_tensor_value_info(o.name, helper.np_dtype_to_tensor_dtype(values[o.name].dtype), None))
    graph.output.extend(outputs)
    inputs = [i for i in graph.input if i.name in read]
    given = {i.name for i in inputs}
    inner = {n for node in kept for a in node.attribute if a.type == onnx.AttributeProto.GRAPH
             for n in [*(i.name for i in a.g.input), *(o for b in a.g.node for o in b.output)]}
    for name in sorted(read - made - given - inner - {""}):
        if not isinstance(values.get(name), np.ndarray):
            return None
        inputs.append(helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(values[name].dtype), values[name].shape))
    del graph.input[:]
    graph.input.extend(inputs)
    initializers = [t for t in graph.initializer if t.name in read]
    del graph.initializer[:]
    graph.initializer.extend(initializers)
    return small, {i.name: values[i.name] for i in inputs}


def minimize(model, feeds, problem, jobs, timeout):
    """A smaller model that fails in the same way, with its inputs and what is wrong."""
    shrunk = True
    while shrunk and len(model.graph.node) > 1:
        shrunk = False
        (_, values, _), = worker_pool.run(values_of, [(model.SerializeToString(), feeds)], 1, timeout)
        if values is None:
            break
        count = len(model.graph.node)
        drops = [set(range(count // 2)), set(range(count // 2, count))] if count > 3 else []
        drops += [{i} for i in reversed(range(count))]
        tries = [t for t in (without(model, feeds, values, d) for d in drops) if t is not None and t[0].graph.node]
        tasks = [(t[0].SerializeToString(), t[1]) for t in tries]
        for task, result, failure in worker_pool.run(attempt, tasks, jobs, timeout):
            found = failure or result
            if found and kind(found) == kind(problem):
                model, feeds, problem, shrunk = onnx.ModelProto.FromString(task[0]), task[1], found, True
                break
    return model, feeds, problem
