// SPDX-License-Identifier: Apache-2.0
// Tensor expressions for Python. `and`, `or` and `not` cannot be overloaded there, so `&`, `|` and
// `~` are logical on conditions; `/` is for floats and `//` for integers, as in Python.
#include "te.h"

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "error.h"
#include "ir/print.h"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

using te::Expr, te::Tensor;

nb::object extent_object(const ir::Expr& extent) {
  if (const std::optional<int64_t> value = ir::const_int(extent)) return nb::cast(*value);
  return nb::cast(Expr(extent));
}

// Operators.

bool is_whole(const Expr& e) { return !e.is_literal() && !ir::is_float(e.elem()); }
bool is_float(const Expr& e) { return !e.is_literal() && ir::is_float(e.elem()); }
bool is_condition(const Expr& e) { return !e.is_literal() && e.elem() == ir::Elem::Bool; }

void require_integers(const char* sign, const char* instead, const Expr& a, const Expr& b) {
  if (is_float(a) || is_float(b))
    refuse_kind("python.te.operator", str(sign, " is for integers"), str("write ", instead));
}

Expr add(const Expr& a, const Expr& b) { return a + b; }
Expr subtract(const Expr& a, const Expr& b) { return a - b; }
Expr multiply(const Expr& a, const Expr& b) { return a * b; }
Expr divide(const Expr& a, const Expr& b) {
  if (is_whole(a) || is_whole(b))
    refuse_kind("python.te.operator", "/ is for floats",
                "write a // b, or te.cast(\"f32\", a) / …");
  return a / b;
}
Expr floor_divide(const Expr& a, const Expr& b) {
  require_integers("//", "te.floor(a / b)", a, b);
  return a / b;
}
Expr modulo(const Expr& a, const Expr& b) {
  require_integers("%", "te.fmod(a, b)", a, b);
  return a % b;
}
Expr power(const Expr& a, const Expr& b) { return te::pow(a, b); }
Expr both(const Expr& a, const Expr& b) {
  return is_condition(a) || is_condition(b) ? a && b : a & b;
}
Expr either(const Expr& a, const Expr& b) {
  return is_condition(a) || is_condition(b) ? a || b : a | b;
}
Expr differ(const Expr& a, const Expr& b) { return a ^ b; }
Expr shift_left(const Expr& a, const Expr& b) { return a << b; }
Expr shift_right(const Expr& a, const Expr& b) { return a >> b; }
Expr equal(const Expr& a, const Expr& b) { return a == b; }
Expr unequal(const Expr& a, const Expr& b) { return a != b; }
Expr less(const Expr& a, const Expr& b) { return a < b; }
Expr at_most(const Expr& a, const Expr& b) { return a <= b; }
Expr greater(const Expr& a, const Expr& b) { return a > b; }
Expr at_least(const Expr& a, const Expr& b) { return a >= b; }
Expr lesser_of(const Expr& a, const Expr& b) { return te::min(a, b); }
Expr greater_of(const Expr& a, const Expr& b) { return te::max(a, b); }
Expr negative(const Expr& a) { return -a; }
Expr inverse(const Expr& a) { return is_condition(a) ? !a : ~a; }
Expr absolute(const Expr& a) { return te::abs(a); }

using Binary = Expr (*)(const Expr&, const Expr&);
using Unary = Expr (*)(const Expr&);

struct BinaryOperator {
  const char *name, *reflected;  // reflected: null for comparisons, whose mirror image Python finds
  Binary apply;
};
constexpr BinaryOperator kBinary[] = {
    {"__add__", "__radd__", add},
    {"__sub__", "__rsub__", subtract},
    {"__mul__", "__rmul__", multiply},
    {"__truediv__", "__rtruediv__", divide},
    {"__floordiv__", "__rfloordiv__", floor_divide},
    {"__mod__", "__rmod__", modulo},
    {"__pow__", "__rpow__", power},
    {"__and__", "__rand__", both},
    {"__or__", "__ror__", either},
    {"__xor__", "__rxor__", differ},
    {"__lshift__", "__rlshift__", shift_left},
    {"__rshift__", "__rrshift__", shift_right},
    {"__eq__", nullptr, equal},
    {"__ne__", nullptr, unequal},
    {"__lt__", nullptr, less},
    {"__le__", nullptr, at_most},
    {"__gt__", nullptr, greater},
    {"__ge__", nullptr, at_least},
};
struct UnaryOperator {
  const char* name;
  Unary apply;
};
constexpr UnaryOperator kUnary[] = {
    {"__neg__", negative}, {"__invert__", inverse}, {"__abs__", absolute}};

[[noreturn]] void refuse_truth() {
  refuse_kind(
      "python.te.truth", "whether an expression holds is known only when the program runs",
      "choose with te.select, combine conditions with & | ~, and write 0 <= i < n as (0 <= i) "
      "& (i < n)");
}

void bind_expr(nb::module_& m) {
  auto expr =
      nb::class_<Expr>(m, "Expr")
          .def(nb::init<bool>())
          .def(nb::init<int64_t>())
          .def(nb::init<double>())
          .def(nb::init<const Expr&>())
          .def_prop_ro("dtype", [](const Expr& e) { return std::string(name(e.elem())); })
          .def("__str__", [](const Expr& e) { return ir::print(e.ir()); })
          .def("__repr__", [](const Expr& e) { return "te.Expr(" + ir::print(e.ir()) + ")"; })
          .def("__bool__", [](const Expr&) -> bool { refuse_truth(); });
  for (const BinaryOperator& op : kBinary) {
    expr.def(op.name, op.apply, nb::is_operator());
    if (op.reflected)
      expr.def(
          op.reflected, [f = op.apply](const Expr& b, const Expr& a) { return f(a, b); },
          nb::is_operator());
  }
  for (const UnaryOperator& op : kUnary) expr.def(op.name, op.apply);
  nb::implicitly_convertible<bool, Expr>();
  nb::implicitly_convertible<int64_t, Expr>();
  nb::implicitly_convertible<double, Expr>();
  nb::class_<te::Var, Expr>(m, "Var").def_prop_ro("name",
                                                  [](const te::Var& v) { return v.var().name(); });
  nb::class_<te::Axis, te::Var>(m, "Axis").def_prop_ro(
      "extent", [](const te::Axis& a) { return extent_object(a.iter().extent); });
  nb::class_<te::Symbol, Expr>(m, "Symbol").def_prop_ro("name", [](const te::Symbol& s) {
    return static_cast<const ir::Symbol&>(s).var.name();
  });
}

void bind_tensor(nb::module_& m) {
  auto tensor =
      nb::class_<Tensor>(m, "Tensor")
          .def_prop_ro("name", &Tensor::name)
          .def_prop_ro("dtype", [](const Tensor& t) { return std::string(name(t.elem())); })
          .def_prop_ro("ndim", &Tensor::rank)
          .def_prop_ro("shape",
                       [](const Tensor& t) {
                         nb::list out;
                         for (const ir::Expr& extent : t.shape()) out.append(extent_object(extent));
                         return nb::tuple(out);
                       })
          .def("__bool__", [](const Tensor&) -> bool { refuse_truth(); })
          .def("__getitem__",
               [](const Tensor& t, const nb::object& at) {
                 return t.at(exprs_of(at, "an index of `" + t.name() + "`"));
               })
          .def("__repr__", [](const Tensor& t) {
            std::string shape;
            for (const ir::Expr& e : t.shape()) shape += (shape.empty() ? "" : ", ") + ir::print(e);
            return "te.Tensor(" + t.name() + ": " + std::string(name(t.elem())) + "[" + shape +
                   "])";
          });
  tensor.attr("__iter__") = nb::none();  // else Python would try the elements 0, 1, … for ever
  for (const BinaryOperator& op : kBinary) {
    tensor.def(
        op.name, [f = op.apply](const Tensor& a, const Tensor& b) { return te::map(a, b, f); },
        nb::is_operator());
    tensor.def(
        op.name,
        [f = op.apply](const Tensor& a, const Expr& y) {
          return te::map(a, [&](const Expr& x) { return f(x, y); });
        },
        nb::is_operator());
    if (op.reflected)
      tensor.def(
          op.reflected,
          [f = op.apply](const Tensor& b, const Expr& x) {
            return te::map(b, [&](const Expr& y) { return f(x, y); });
          },
          nb::is_operator());
  }
  for (const UnaryOperator& op : kUnary)
    tensor.def(op.name, [f = op.apply](const Tensor& t) { return te::map(t, f); });
}

// Functions.

/// On single elements and on whole tensors.
void bind_functions(nb::module_& m) {
  for (int i = 0; i < ir::kMathFnCount; ++i) {
    const auto fn = static_cast<ir::MathFn>(i);
    const std::string name(ir::info(fn).name);
    if (ir::info(fn).args == 1) {
      const auto f = [fn](const Expr& x) { return te::call(fn, {x}); };
      m.def(name.c_str(), f);
      m.def(name.c_str(), [f](const Tensor& t) { return te::map(t, f); });
    } else if (ir::info(fn).args == 2) {
      const auto f = [fn](const Expr& x, const Expr& y) { return te::call(fn, {x, y}); };
      m.def(name.c_str(), f);
      m.def(name.c_str(), [f](const Tensor& a, const Tensor& b) { return te::map(a, b, f); });
    } else {
      m.def(name.c_str(),
            [fn](const Expr& x, const Expr& y, const Expr& z) { return te::call(fn, {x, y, z}); });
    }
  }
  const auto pair = [&](const char* name, Binary f) {
    m.def(name, f);
    m.def(name, [f](const Tensor& a, const Tensor& b) { return te::map(a, b, f); });
    m.def(name, [f](const Tensor& a, const Expr& y) {
      return te::map(a, [&](const Expr& x) { return f(x, y); });
    });
  };
  pair("min", lesser_of);
  pair("max", greater_of);
  m.def("select", te::select);
  m.def("guard", te::guard);
  m.def("rational", te::rational);
  m.def("cast", [](const std::string& to, const Expr& x) { return te::cast(elem_of(to), x); });
  m.def("cast", [](const std::string& to, const Tensor& t) {
    return te::map(t, [&](const Expr& x) { return te::cast(elem_of(to), x); });
  });
  m.def("reinterpret",
        [](const std::string& to, const Expr& x) { return te::reinterpret(elem_of(to), x); });
}

}  // namespace

bool is_list(const nb::handle& object) {
  return nb::isinstance<nb::tuple>(object) || nb::isinstance<nb::list>(object);
}

ir::Elem elem_of(const std::string& name) {
  const std::optional<ir::Elem> elem = ir::elem_from_name(name);
  if (!elem)
    refuse_kind("python.array.elem", str("there is no element type `", name, "`"),
                "write one such as f32, i64 or bool");
  return *elem;
}

te::Tuple exprs_of(const nb::handle& object, const std::string& what) {
  constexpr const char* kWanted = "numbers or expressions of tensors, axes and symbols";
  te::Tuple out;
  if (!is_list(object)) return {taken<Expr>(object, what, kWanted)};
  for (const nb::handle item : object) out.push_back(taken<Expr>(item, what, kWanted));
  return out;
}

void bind_expressions(nb::module_& m) {
  bind_expr(m);
  bind_tensor(m);
  bind_functions(m);
}

}  // namespace tilewright::python
