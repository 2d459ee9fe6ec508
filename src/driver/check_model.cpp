// SPDX-License-Identifier: Apache-2.0
#include "driver/check_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "driver/reference.h"
#include "driver/repro.h"
#include "driver/run_model.h"
#include "graph/op_def.h"
#include "graph/pipeline.h"
#include "module/in_memory.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using graph::Constant;
using graph::Graph;

std::vector<Constant> in_order(const Graph& model,
                               const std::vector<frontend::NamedTensor>& inputs) {
  std::vector<Constant> out;
  for (const graph::ValueId id : model.main().inputs) {
    const std::string& name = model.value(id).name;
    const auto found =
        std::find_if(inputs.begin(), inputs.end(), [&](const auto& t) { return t.name == name; });
    out.push_back(found == inputs.end() ? Constant() : found->value);  // or its default
  }
  return out;
}

std::vector<frontend::NamedTensor> compiled(const Graph& model, const ModelOptions& options,
                                            const std::vector<frontend::NamedTensor>& inputs) {
  LoadedModule module(module_in_memory(compile_model(model, options)), 1);
  module.set_inputs(inputs);
  module.run();
  return module.outputs();
}

/// The model with every tensor of its main function as an output, in the order of computation.
Graph with_all_outputs(Graph model) {
  model.main().outputs.clear();
  model.output_names.clear();
  for (const graph::Node& node : model.main().nodes)
    for (const graph::ValueId id : node.outputs)
      if (id != graph::kNoValue && !model.value(id).constant && model.type(id).tensor() &&
          !model.type(id).tensor()->strings)
        model.main().outputs.push_back(id);
  return model;
}

std::string origin_of(const Graph& model, const std::string& name) {
  for (const graph::Node& node : model.main().nodes)
    for (const graph::ValueId id : node.outputs)
      if (id != graph::kNoValue && model.value(id).name == name) return node.origin.text;
  return {};
}

}  // namespace

double difference(const graph::ConstantNode& want, const graph::ConstantNode& got) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (want.elem != got.elem || want.is_strings != got.is_strings || want.shape != got.shape)
    return kInfinity;
  if (want.is_strings) return want.strings == got.strings ? 0 : kInfinity;
  double worst = 0, greatest = 0;
  for (int64_t i = 0; i < want.count(); ++i) {
    const double a = number_at(want, i), b = number_at(got, i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) {
      if (std::isfinite(a)) greatest = std::max(greatest, std::abs(a));
      continue;
    }
    if (!std::isfinite(a) || !std::isfinite(b)) return kInfinity;
    worst = std::max(worst, std::abs(a - b));
    greatest = std::max(greatest, std::abs(a));
  }
  return worst == 0 ? 0 : worst / std::max(greatest, std::numeric_limits<double>::min());
}

CheckReport check_model(const Graph& model, const std::vector<frontend::NamedTensor>& inputs,
                        CheckOptions check) {
  const ModelOptions& options = check.model;
  const double tolerance = check.tolerance;
  std::map<std::string, Constant>& values = check.values;
  if (values.empty()) {
    const std::vector<Constant> want = run_reference(model, in_order(model, inputs), &values);
    for (size_t i = 0; i < want.size(); ++i) values[model.output_names.at(i)] = want[i];
  }
  for (const frontend::NamedTensor& t : inputs) values.emplace(t.name, t.value);
  const auto worst_of = [&](const std::vector<frontend::NamedTensor>& got) {
    double worst = 0;
    for (const frontend::NamedTensor& t : got)
      if (const auto found = values.find(t.name); found != values.end())
        worst = std::max(worst, difference(*found->second, *t.value));
    return worst;
  };
  CheckReport report;
  const std::vector<frontend::NamedTensor> got = compiled(model, options, inputs);
  for (const frontend::NamedTensor& t : got) {
    const auto want = values.find(t.name);
    if (want == values.end())
      throw Error({.code = "driver.check.output",
                   .at = {},
                   .message = str("there is nothing to compare output `", t.name, "` with"),
                   .notes = {},
                   .help = "check against the interpreter: --against reference"});
    report.outputs.push_back({t.name, difference(*want->second, *t.value)});
    report.equal = report.equal && report.outputs.back().difference <= tolerance;
  }
  if (report.equal) return report;

  const Graph open = with_all_outputs(model);
  for (const frontend::NamedTensor& t : compiled(open, options, inputs)) {
    const auto found = values.find(t.name);
    if (found == values.end() || difference(*found->second, *t.value) <= tolerance) continue;
    report.first_wrong = t.name;
    report.origin = origin_of(open, t.name);
    break;
  }
  for (const graph::Pass& pass : graph::default_pipeline()) {
    ModelOptions without = options;
    without.skip.emplace_back(pass.name);
    if (worst_of(compiled(model, without, inputs)) <= tolerance) {
      report.pass = pass.name;
      break;
    }
  }
  if (const std::optional<Repro> repro = repro_of(model, report.first_wrong, values)) {
    report.culprit = culprit_of(*repro, options, tolerance);
    if (!check.repro.empty()) {
      write_repro(*repro, check.repro, print(report));
      report.repro = check.repro;
    }
  }
  return report;
}

std::string print(const CheckReport& report) {
  std::string out;
  for (const CheckReport::Value& v : report.outputs)
    out += str(v.name, ": greatest difference ", v.difference, " of the greatest value\n");
  if (report.equal) return out + "equal\n";
  out += "DIFFERENT\n";
  if (report.first_wrong.empty())
    out += "every value is right when all are outputs: fusion or memory reuse is at fault\n";
  else
    out +=
        str("the first wrong value is `", report.first_wrong, "`, made by ", report.origin, "\n");
  if (!report.culprit.empty()) out += str("of that operator: ", report.culprit, "\n");
  if (!report.repro.empty())
    out += str("it stands alone in ", report.repro, ".tw; look at it with\n  tilewright check ",
               report.repro, ".tw --inputs ", report.repro, ".npz\n");
  if (!report.pass.empty()) out += str("without pass `", report.pass, "` the result is right\n");
  return out;
}

}  // namespace tilewright::driver
