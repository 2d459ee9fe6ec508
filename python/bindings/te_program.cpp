// SPDX-License-Identifier: Apache-2.0
// Reductions, stages and programs of tensor expressions. A function that is given or gives a tuple
// of one works on the one itself.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unordered_map>

#include "error.h"
#include "ir/rewrite.h"
#include "lock.h"
#include "te.h"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

using te::Expr, te::Tensor;

te::Names names_of(const nb::handle& object) {
  constexpr const char* kWanted = "a name, or one for each result";
  if (is_list(object))
    return te::Names(taken<std::vector<std::string>>(object, "the name", kWanted));
  return te::Names(taken<std::string>(object, "the name", kWanted));
}

te::Axes axes_of(const nb::handle& object) {
  constexpr const char* kWanted = "what te.reduce_axis made, or several of them";
  if (is_list(object))
    return te::Axes(taken<std::vector<te::Axis>>(object, "what is reduced over", kWanted));
  return te::Axes(taken<te::Axis>(object, "what is reduced over", kWanted));
}

/// What one is called with, or several: `x` or `(x, y)`.
template <class T>
nb::object one_or_all(const std::vector<T>& items) {
  if (items.size() == 1) return nb::cast(items[0]);
  return nb::tuple(nb::cast(items));
}

void bind_reductions(nb::module_& m) {
  m.def("reduce_axis", te::reduce_axis);
  using Reduce = Expr (*)(const Expr&, const te::Axes&);
  const auto reduction = [&](const char* name, Reduce f) {
    m.def(name, [f](const Expr& value, const nb::object& axes) { return f(value, axes_of(axes)); });
  };
  reduction("sum", te::sum);
  reduction("prod", te::prod);
  reduction("max_over", te::max_over);
  reduction("min_over", te::min_over);
  reduction("all", te::all);
  reduction("any", te::any);
  m.def("sum", [](const Tensor& t, int axis) { return te::sum_over(t, axis); });
  m.def("max_over", [](const Tensor& t, int axis) { return te::max_over(t, axis); });
  m.def("min_over", [](const Tensor& t, int axis) { return te::min_over(t, axis); });
  m.def("argmax",
        [](const Expr& v, const te::Axis& k) { return nb::tuple(nb::cast(te::argmax(v, k))); });
  m.def("argmin",
        [](const Expr& v, const te::Axis& k) { return nb::tuple(nb::cast(te::argmin(v, k))); });

  nb::class_<ir::Reducer>(m, "Reducer")
      .def_prop_ro("name", [](const ir::Reducer& r) { return r->name; })
      .def("__repr__", [](const ir::Reducer& r) { return "te.Reducer(" + r->name + ")"; });
  m.def("reducer", [](const std::string& name, const std::vector<std::string>& elems,
                      const nb::callable& combine, const nb::object& identity) {
    std::vector<ir::Elem> types;
    for (const std::string& e : elems) types.push_back(elem_of(e));
    return te::reducer(
        name, types,
        [&](const te::Tuple& x, const te::Tuple& y) {
          return exprs_of(called(combine, one_or_all(x), one_or_all(y)),
                          "what the reducer's function gives");
        },
        exprs_of(identity, "the identity of the reducer"));
  });
  m.def("with_rescale", [](const ir::Reducer& reducer, const std::vector<std::string>& of,
                           const nb::callable& rescale) {
    std::vector<ir::Elem> types;
    for (const std::string& e : of) types.push_back(elem_of(e));
    return te::with_rescale(
        reducer, types, [&](const te::Tuple& partial, const te::Tuple& from, const te::Tuple& to) {
          return exprs_of(called(rescale, one_or_all(partial), one_or_all(from), one_or_all(to)),
                          "what the rescaling function gives");
        });
  });
  m.def("reduce", [](const ir::Reducer& reducer, const nb::object& values, const nb::object& axes) {
    return one_or_all(te::reduce(reducer, exprs_of(values, "a value to reduce"), axes_of(axes)));
  });
}

// Stages and programs.

/// Ranges of the symbols that Python has made. An extent mentions them by their variables.
std::unordered_map<ir::Var, ir::Symbol>& known_symbols() {
  static std::unordered_map<ir::Var, ir::Symbol> all;
  return all;
}

te::Symbol make_symbol(const std::string& name, int64_t min, int64_t max, int64_t divisor) {
  const te::Symbol symbol = te::symbol(name, min, max, divisor);
  const ir::Symbol& made = symbol;
  known_symbols().emplace(made.var, made);
  return symbol;
}

/// The axes are called by the names of the function's parameters; without names, i0, i1, ….
nb::object compute(const nb::object& names, const nb::object& shape,
                   const std::optional<std::vector<std::string>>& axis_names,
                   const nb::callable& f) {
  const te::Names result_names = names_of(names);
  std::vector<te::Iter> axes =
      te::detail::numbered_axes(result_names, exprs_of(shape, "an extent of the shape"));
  if (axis_names && axis_names->size() != axes.size())
    te::detail::refuse_rank(result_names, axis_names->size(), axes.size());
  nb::list vars;
  for (size_t d = 0; d < axes.size(); ++d) {
    if (axis_names) axes[d].var = ir::Var((*axis_names)[d]);
    vars.append(te::Var(axes[d].var));
  }
  const nb::object result = called([&] { return f(*vars); });
  const std::vector<Tensor> made = te::make_compute(
      result_names, axes, exprs_of(result, "what the function gives for an element"));
  return is_list(result) ? nb::object(nb::tuple(nb::cast(made))) : nb::cast(made[0]);
}

nb::object scan(const nb::object& names, const Expr& steps, const nb::object& init,
                const nb::callable& step) {
  const te::Names result_names = names_of(names);
  const std::vector<Tensor> from = tensors_of(init);
  const te::ScanFrame frame = te::begin_scan(result_names, steps, from);
  const nb::object prev = is_list(init) ? nb::cast(frame.prev) : nb::cast(frame.prev.at(0));
  const nb::object results = called(step, te::Var(frame.time.var), prev);
  const std::vector<Tensor> made = te::end_scan(result_names, frame, from, tensors_of(results));
  return is_list(results) ? nb::object(nb::tuple(nb::cast(made))) : nb::cast(made[0]);
}

/// Its symbols are those that the shapes of the inputs mention, then the listed ones.
te::Program make_program(const std::string& name, const std::vector<Tensor>& inputs,
                         const nb::object& outputs, const std::vector<te::Symbol>& more) {
  std::vector<ir::Symbol> symbols;
  const auto add = [&](const ir::Symbol& s) {
    for (const ir::Symbol& known : symbols)
      if (known.var == s.var) return;
    symbols.push_back(s);
  };
  for (const Tensor& t : inputs)
    for (const ir::Expr& extent : t.shape())
      ir::walk(extent, [&](const ir::VarNode& v) {
        const auto found = known_symbols().find(ir::Var::of(v));
        if (found != known_symbols().end()) add(found->second);
      });
  for (const te::Symbol& s : more) add(s);
  return te::program(name, inputs, tensors_of(outputs), symbols);
}

}  // namespace

std::vector<Tensor> tensors_of(const nb::handle& object) {
  constexpr const char* kWanted = "a te.Tensor, or several of them";
  if (is_list(object)) return taken<std::vector<Tensor>>(object, "a list of tensors", kWanted);
  return {taken<Tensor>(object, "a tensor", kWanted)};
}

void bind_programs(nb::module_& m) {
  bind_reductions(m);
  m.def("symbol", make_symbol);
  m.def("index", [](const std::string& name) { return te::Var(ir::Var(name)); });
  m.def(
      "placeholder", [](const std::string& name, const std::string& elem, const nb::object& shape) {
        return te::placeholder(name, elem_of(elem), exprs_of(shape, "an extent of `" + name + "`"));
      });
  m.def("compute", compute, nb::arg("names"), nb::arg("shape"), nb::arg("axis_names").none(),
        nb::arg("f"));
  m.def("scan", scan);
  nb::class_<te::Program>(m, "Program")
      .def_ro("name", &te::Program::name)
      .def_ro("inputs", &te::Program::inputs)
      .def_ro("outputs", &te::Program::outputs)
      .def("__str__", [](const te::Program& p) { return te::print(p); });
  m.def("program", make_program);
  m.def("parse", [](const std::string& text) { return te::parse_program(text); });
}

}  // namespace tilewright::python
