// SPDX-License-Identifier: Apache-2.0
#include "ops/formula.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "support/str.h"

namespace tilewright::ops {

using graph::Call;

Dim choose(const ir::Expr& cond, const Dim& yes, const Dim& no) {
  if (ir::is_true(cond)) return yes;
  if (ir::is_false(cond)) return no;
  return ir::select(cond, yes, no);
}

Dim wrapped(const Dim& index, const Dim& extent) {
  return choose(index < Dim(0), index + extent, index);
}

Dim as_int(const ir::Expr& cond) { return choose(cond, Dim(1), Dim(0)); }

Dim pick(const std::vector<Dim>& of, const Dim& index) {
  require(!of.empty(), "an element of an empty list");
  Dim out = of.back();
  for (size_t k = of.size() - 1; k-- > 0;)
    out = choose(ir::eq(index, Dim(static_cast<int64_t>(k))), of[k], out);
  return out;
}

ir::Expr in_range(const Dim& index, const Dim& from, const Dim& to) {
  return ir::logical_and(from <= index, index < to);
}

std::vector<Dim> axes_of(const Call& call, size_t i, int rank) {
  return normal_axes(call, call.elements(i), rank);
}

std::vector<Dim> normal_axes(const Call& call, std::vector<Dim> axes, int rank) {
  for (Dim& a : axes) {
    a = call.simple(wrapped(a, Dim(rank)));
    call.check(in_range(a, Dim(0), Dim(rank)), str("axes are between ", -rank, " and ", rank - 1));
    // Formulas mention an axis often. The check tells of one below 0, not the symbol.
    if (!ir::const_int(a)) a = call.extent(ir::max(a, Dim(0)));
  }
  for (size_t j = 0; j < axes.size(); ++j)
    for (size_t k = 0; k < j; ++k) call.check(ir::ne(axes[j], axes[k]), "an axis is listed twice");
  return axes;
}

Dim at_axis(const std::vector<Dim>& axes, const std::vector<Dim>& values, int64_t axis,
            const Dim& otherwise) {
  Dim out = otherwise;
  for (size_t j = 0; j < axes.size(); ++j) out = choose(ir::eq(axes[j], Dim(axis)), values[j], out);
  return out;
}

namespace {

/// A product, its constant factor apart.
struct Product {
  int64_t constant = 1;
  std::vector<Dim> factors;

  void multiply(const Dim& d) {
    if (const std::optional<int64_t> c = ir::const_int(d)) {
      constant = ir::int_binary(ir::BinaryOp::Mul, ir::Elem::I64, constant, *c);
      return;
    }
    const ir::Binary* b = d.as<ir::Binary>();
    if (b && b->op == ir::BinaryOp::Mul) {
      multiply(b->a);
      multiply(b->b);
      return;
    }
    factors.push_back(d);
  }
  Dim dim() const {
    Dim out = constant == 1 && !factors.empty() ? factors[0] : Dim(constant);
    for (size_t i = constant == 1 ? 1 : 0; i < factors.size(); ++i) out = out * factors[i];
    return out;
  }
};

Product product(const Shape& dims) {
  Product out;
  for (const Dim& d : dims) out.multiply(d);
  return out;
}

}  // namespace

Quotient quotient(const Shape& a, const Shape& b) {
  Product num = product(a), den = product(b);
  std::erase_if(den.factors, [&](const Dim& d) {
    const auto found = std::find_if(num.factors.begin(), num.factors.end(),
                                    [&](const Dim& n) { return graph::same(n, d); });
    if (found == num.factors.end()) return false;
    num.factors.erase(found);
    return true;
  });
  if (den.constant != 0 && num.constant % den.constant == 0) {
    num.constant /= den.constant;
    den.constant = 1;
  }
  if (den.constant == 1 && den.factors.empty()) return {num.dim(), true};
  return {num.dim() / den.dim(), false};
}

Elements list_of(const Call& call, size_t i) {
  if (!call.has(i) || !call.type(i).tensor() || call.rank(i) > 1) return std::nullopt;
  return call.known_elements(i);
}

Elements map_elements(const Call& call, ir::Elem elem,
                      FunctionRef<Dim(const std::vector<Dim>&)> f) {
  std::vector<std::vector<Dim>> inputs;
  size_t count = 1;
  for (size_t i = 0; i < call.inputs(); ++i) {
    Elements list = list_of(call, i);
    if (!list) return std::nullopt;
    if (list->size() != 1) count = list->size();
    inputs.push_back(std::move(*list));
  }
  std::vector<Dim> out;
  for (size_t k = 0; k < count; ++k) {
    std::vector<Dim> args;
    for (const std::vector<Dim>& list : inputs) {
      if (list.size() != 1 && list.size() != count) return std::nullopt;
      args.push_back(list[list.size() == 1 ? 0 : k]);
    }
    Dim value = f(args);
    const std::optional<int64_t> c = ir::const_int(value);
    if (c && !ir::is_float(elem)) {
      value = Dim(ir::wrap_int(elem, *c));
    } else if (!c && elem != ir::Elem::I64 && !ir::is_float(elem)) {
      const auto most =
          static_cast<int64_t>(std::min<uint64_t>(ir::int_max(elem), ir::int_max(ir::Elem::I64)));
      const ir::Expr fits = ir::logical_and(Dim(ir::int_min(elem)) <= value, value <= Dim(most));
      if (elem == ir::Elem::I32)
        call.check(fits, "a size that is computed in int32 does not fit it");
      else if (!call.proves(fits))
        return std::nullopt;
    }
    out.push_back(std::move(value));
  }
  return out;
}

void check_exact(const Call& call, ir::Elem elem, const std::vector<Dim>& wholes) {
  const Dim most = int64_t{1} << std::min(ir::info(elem).mantissa_bits + 1, 62);
  const auto check = [&](const Dim& d) {
    call.check(ir::logical_and(-most <= d, d <= most),
               str("a size that is computed in ", ir::name(elem), " is too large for it"));
  };
  for (const Dim& whole : wholes) {
    check(whole);
    ir::walk(whole, [&](const ir::Binary& part) {
      if (part.type == ir::kIndex) check(Dim::of(part));
    });
  }
}

}  // namespace tilewright::ops
