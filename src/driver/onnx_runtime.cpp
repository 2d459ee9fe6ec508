// SPDX-License-Identifier: Apache-2.0
#include "driver/onnx_runtime.h"

#include <cstdlib>

#include "support/process.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

/// Arguments: the model, inputs and outputs. Values that NumPy's files cannot hold are left out.
constexpr const char* kScript = R"(
import sys
import numpy as np
import onnxruntime as ort
path, inputs, outputs = sys.argv[1:]
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
options.log_severity_level = 3
def session(model):
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
try:
    import onnx
    model = onnx.load(path)
    have = {o.name for o in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for node in model.graph.node
                              for n in node.output if n and n not in have)
    run = session(model.SerializeToString())
except Exception:  # no package onnx, or more than a message can hold
    run = session(path)
feeds = dict(np.load(inputs))
values = run.run(None, feeds)
keep = {}
for port, value in zip(run.get_outputs(), values):
    array = value if isinstance(value, np.ndarray) else None
    if array is not None and array.dtype.kind in "biuf":
        keep[port.name] = array
np.savez(outputs, **keep)
)";

[[noreturn]] void refuse(const std::string& message, const std::string& note) {
  throw Error({.code = "driver.onnxruntime.run",
               .at = {},
               .message = message,
               .notes = {note},
               .help = "install it (`pip install onnxruntime onnx numpy`) and name that Python in "
                       "TILEWRIGHT_PYTHON, or check against the interpreter: --against reference"});
}

}  // namespace

std::map<std::string, graph::Constant> run_onnx_runtime(
    const std::string& model, const std::vector<frontend::NamedTensor>& inputs) {
  const TempFolder folder;
  const std::string in = (folder.path() / "in.npz").string();
  const std::string out = (folder.path() / "out.npz").string();
  frontend::write_npz(in, inputs);
  const char* named = std::getenv("TILEWRIGHT_PYTHON");
  const std::string python = named && *named ? named : "python3";
  const std::optional<ProgramResult> result = run_program({python, "-c", kScript, model, in, out});
  if (!result) refuse(str("there is no Python `", python, "` to ask ONNX Runtime"), "");
  if (result->status != 0) {
    std::string last = result->output;
    while (last.ends_with('\n')) last.pop_back();
    refuse("ONNX Runtime gave no result", last.substr(last.rfind('\n') + 1));
  }
  std::map<std::string, graph::Constant> values;
  for (frontend::NamedTensor& t : frontend::read_npz(out)) values[t.name] = std::move(t.value);
  return values;
}

}  // namespace tilewright::driver
