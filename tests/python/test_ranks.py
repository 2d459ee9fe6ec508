# SPDX-License-Identifier: Apache-2.0
"""Every operator of ONNX with inputs of ranks that it may not expect: a graph or a diagnostic, never the end of the process."""
import subprocess
import sys

import numpy as np
import pytest
from onnx import TensorProto, defs, helper, numpy_helper

NEWEST = 23
ELEMS = {"tensor(float)": TensorProto.FLOAT, "tensor(int64)": TensorProto.INT64, "tensor(int32)": TensorProto.INT32,
         "tensor(bool)": TensorProto.BOOL, "tensor(uint8)": TensorProto.UINT8, "tensor(int8)": TensorProto.INT8}


def elem_of(formal):
    return next((elem for name, elem in ELEMS.items() if name in formal.types), TensorProto.FLOAT)


def model(schema, rng):
    """One node; an input is left without a rank now and then, and integers are often constants."""
    least, most = schema.min_input, min(schema.max_input, schema.min_input + 4)
    names, given, constants = [], [], []
    for i in range(rng.integers(least, most + 1) if most > least else least):
        formal, name = schema.inputs[min(i, len(schema.inputs) - 1)], f"i{i}"
        shape = rng.integers(0, 4, rng.integers(0, 5)).tolist()
        names.append(name)
        if elem_of(formal) == TensorProto.INT64 and rng.random() < 0.6:
            constants.append(numpy_helper.from_array(rng.integers(-2, 4, shape), name))
        else:
            given.append(helper.make_tensor_value_info(name, elem_of(formal), None if rng.random() < 0.2 else shape))
    outputs = [f"o{i}" for i in range(max(schema.min_output, 1))]
    attributes = {}
    for name, attribute in schema.attributes.items():
        if attribute.type == defs.OpSchema.AttrType.INT and (attribute.required or rng.random() < 0.3):
            attributes[name] = int(rng.integers(-2, 4))
        if attribute.type == defs.OpSchema.AttrType.INTS and (attribute.required or rng.random() < 0.3):
            attributes[name] = rng.integers(-1, 4, rng.integers(1, 5)).tolist()
    graph = helper.make_graph([helper.make_node(schema.name, names, outputs, **attributes)], "g", given,
                              [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", NEWEST)], ir_version=10)


def read_all(seeds):
    import tilewright
    broken = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        for name in sorted({s.name for s in defs.get_all_schemas() if not s.domain}):
            if not defs.has(name, NEWEST) or (schema := defs.get_schema(name, NEWEST)).deprecated:
                continue
            content = model(schema, rng).SerializeToString()
            print(seed, name, flush=True)  # the last line tells what ended the process
            try:
                tilewright.emit(content, "graph")
            except tilewright.Error as error:
                if "internal" in str(error):
                    broken.append(f"{seed} {name}: {error}")
            except RuntimeError as error:
                broken.append(f"{seed} {name}: {error}")
    sys.exit("\n".join(broken) or 0)


@pytest.mark.parametrize("first", [1, 11])
def test_operators_take_or_refuse_any_rank(first):
    result = subprocess.run([sys.executable, __file__, str(first), str(first + 10)], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, f"{result.stdout.splitlines()[-1:]}: {result.stderr[-2000:]}"


if __name__ == "__main__":
    read_all(range(int(sys.argv[1]), int(sys.argv[2])))
