// SPDX-License-Identifier: Apache-2.0
// tilewright._native: what the Python package calls. Tensors cross as (element type, shape, bytes);
// python/tilewright/_arrays.py makes NumPy arrays of them.
#include <cstdio>
#include <cstdlib>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include "bind_schedule.h"
#include "bind_tune.h"
#include "dlpack.h"
#include "driver/kernel_cache.h"
#include "driver/machine.h"
#include "driver/model.h"
#include "driver/reference.h"
#include "error.h"
#include "frontend/onnx/import.h"
#include "lock.h"
#include "module.h"
#include "ops/all.h"
#include "register_op.h"
#include "target/host.h"
#include "te.h"

namespace nb = nanobind;
using namespace tilewright;

namespace {

using Bytes = nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>, nb::c_contig>;
using Dims = std::map<std::string, std::tuple<int64_t, int64_t, std::vector<int64_t>>>;

/// The graph may look into the bytes of `model`, which the caller keeps.
graph::Graph read(const nb::object& model, const Dims& dims) {
  frontend::onnx::ImportOptions options;
  for (const auto& [name, range] : dims)
    options.dims[name] = {std::get<0>(range), std::get<1>(range), std::get<2>(range)};
  if (nb::isinstance<nb::str>(model))
    return frontend::onnx::read_model(std::filesystem::path(nb::cast<std::string>(model)), options);
  const nb::bytes bytes = nb::cast<nb::bytes>(model);
  return frontend::onnx::read_model(std::as_bytes(std::span(bytes.c_str(), bytes.size())), nullptr,
                                    options);
}

graph::Constant constant_of(const nb::handle& value) {
  const nb::tuple t = nb::cast<nb::tuple>(value);
  const auto elem = nb::cast<std::string>(t[0]);
  const auto shape = nb::cast<std::vector<int64_t>>(t[1]);
  if (elem == "string")
    return graph::string_constant(shape, nb::cast<std::vector<std::string>>(t[2]));
  const std::optional<ir::Elem> type = ir::elem_from_name(elem);
  require(type.has_value(), "an element type that NumPy arrays have");
  const Bytes bytes = nb::cast<Bytes>(t[2]);
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return graph::make_constant(*type, shape, {data, data + bytes.size()});
}

/// Bytes as a NumPy array that owns them.
nb::object array_of(std::vector<std::byte> bytes) {
  auto* owned = new std::vector<std::byte>(std::move(bytes));
  const nb::capsule owner(owned,
                          [](void* p) noexcept { delete static_cast<std::vector<std::byte>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, uint8_t>(owned->data(), {owned->size()}, owner));
}

nb::object object_of(const graph::Constant& c) {
  if (c->is_strings) return nb::make_tuple("string", c->shape, c->strings);
  return nb::make_tuple(std::string(ir::name(c->elem)), c->shape,
                        array_of({c->bytes.begin(), c->bytes.end()}));
}

nb::list reference(const nb::object& model, const nb::list& inputs) {
  const graph::Graph graph = read(model, {});
  std::vector<graph::Constant> constants;
  for (const nb::handle& value : inputs)
    constants.push_back(value.is_none() ? graph::Constant() : constant_of(value));
  for (size_t i = constants.size();
       i < graph.main().inputs.size() && graph.defaults.contains(graph.main().inputs[i]); ++i)
    constants.emplace_back();
  nb::list out;
  for (const graph::Constant& c : driver::run_reference(graph, constants)) out.append(object_of(c));
  return out;
}

/// Ends the process at once where threads are still in native code: what the libraries have, LLVM's
/// among them, is about to be destroyed under them.
void leave_threads(int status, void*) {
  if (python::Unlocked::inside == 0) return;
  std::fflush(nullptr);
  _exit(status);
}

/// A Module, and what is slower than it should be, a line each.
nb::tuple compile(const nb::object& model, const std::string& target, const Dims& dims,
                  const std::vector<std::string>& skip, const python::ContextLimits& limits,
                  bool cache, const std::string& precision, const std::string& records,
                  bool transfer, bool shipped) {
  const graph::Graph graph = read(model, dims);
  std::vector<std::string> warnings;
  driver::ModelOptions options;
  if (cache) options.cache = std::make_shared<driver::KernelCache>();
  options.target = driver::target_with_rates(target);
  options.skip = skip;
  options.precision = driver::precision_from_name(precision);
  options.warn = [&](const std::string& line) { warnings.push_back(line); };
  options.schedules = driver::schedules_of(
      {.records = records, .shipped = shipped, .transfer = transfer}, {&options.target, 1});
  Module module;
  {
    const python::Unlocked unlocked;
    module = driver::compile_model(graph, options);
  }
  // Before the destructors of what the first compile made in its libraries.
  static const int registered = on_exit(leave_threads, nullptr);
  (void)registered;
  return nb::make_tuple(python::loaded(module, limits), warnings);
}

std::string emit(const nb::object& model, const std::string& stage, const std::string& target,
                 const Dims& dims, const std::vector<std::string>& skip,
                 const std::string& precision) {
  driver::ModelOptions options;
  options.target = driver::target_with_rates(target);
  options.skip = skip;
  options.precision = driver::precision_from_name(precision);
  return driver::emit_model(read(model, dims), options, stage);
}

/// How an operator computes: te, loops, host, view or control.
const char* form_of(const graph::OpDef& op) {
  if (!op.algorithms.empty()) return "te";
  if (op.loops) return "loops";
  if (!op.host.empty()) return "host";
  return op.special == graph::Special::View ? "view" : "control";
}

/// The rules for ONNX operators: (domain, operator, first opset, last opset, own operator, form).
nb::list onnx_rules() {
  nb::list out;
  for (const auto& [rule, op] : ops::onnx_rules())
    out.append(nb::make_tuple(std::string(rule->domain), std::string(rule->op), rule->from,
                              rule->to, op ? std::string(op->name) : std::string(),
                              op ? form_of(*op) : ""));
  return out;
}

}  // namespace

NB_MODULE(_native, m) {
  on_exit(leave_threads, nullptr);  // before the destructors of what was loaded before
  nb::set_leak_warnings(false);     // what daemon threads hold at the end is no leak
  python::bind_error(m);
  python::bind_dlpack(m);
  m.def("compile", compile, nb::arg("model"), nb::arg("target"), nb::arg("dims"), nb::arg("skip"),
        nb::arg("limits"), nb::arg("cache"), nb::arg("precision"), nb::arg("records"),
        nb::arg("transfer"), nb::arg("shipped"));
  m.def("emit", emit, nb::arg("model"), nb::arg("stage"), nb::arg("target"), nb::arg("dims"),
        nb::arg("skip"), nb::arg("precision"));
  python::bind_module(m);
  nb::module_ te = m.def_submodule("te");
  python::bind_expressions(te);
  python::bind_programs(te);
  python::bind_schedule(m);
  python::bind_tune(m);
  python::bind_register_op(m);
  m.def("onnx_rules", onnx_rules);
  m.def("reference", reference, nb::arg("model"), nb::arg("inputs"));
}
