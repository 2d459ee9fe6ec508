// SPDX-License-Identifier: Apache-2.0
#include "arith/evaluate.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "ir/buffer.h"
#include "ir/scalar.h"

namespace tilewright::arith {
namespace {

using ir::Elem;
using ir::Expr;

class Evaluator {
 public:
  explicit Evaluator(const Values& values) : values_(values) {}

  Value operator()(const Expr& e) {
    return ir::visit(e, [&](const auto& node) { return eval(node); });
  }

 private:
  /// Each lane from the same lane of the operands.
  template <class F>
  Value int_lanes(int n, F&& lane) {
    Value out;
    for (int i = 0; i < n; ++i) out.ints.push_back(lane(i));
    return out;
  }
  template <class F>
  Value float_lanes(int n, F&& lane) {
    Value out;
    for (int i = 0; i < n; ++i) out.floats.push_back(lane(i));
    return out;
  }

  Value eval(const ir::IntImm& n) { return Value::of(n.value); }
  Value eval(const ir::FloatImm& n) { return Value::of_float(n.value); }
  Value eval(const ir::VarNode& n) {
    const auto found = values_.find(&n);
    if (found == values_.end()) throw std::runtime_error("no value for " + n.name);
    return found->second;
  }
  Value eval(const ir::Unary& n) {
    const Value a = (*this)(n.a);
    const Elem elem = n.a.type().elem;
    if (ir::is_float(elem))
      return float_lanes(n.type.lanes,
                         [&](size_t i) { return ir::float_unary(n.op, elem, a.floats[i]); });
    return int_lanes(n.type.lanes, [&](size_t i) { return ir::int_unary(n.op, elem, a.ints[i]); });
  }
  Value eval(const ir::Binary& n) {
    const Value a = (*this)(n.a), b = (*this)(n.b);
    const Elem elem = n.a.type().elem;
    const int lanes = n.type.lanes;
    if (!ir::is_float(elem))
      return int_lanes(lanes,
                       [&](size_t i) { return ir::int_binary(n.op, elem, a.ints[i], b.ints[i]); });
    if (ir::is_compare(n.op))
      return int_lanes(lanes, [&](size_t i) {
        return int64_t{ir::float_compare(n.op, a.floats[i], b.floats[i])};
      });
    return float_lanes(
        lanes, [&](size_t i) { return ir::float_binary(n.op, elem, a.floats[i], b.floats[i]); });
  }
  Value eval(const ir::Call& n) {
    std::vector<Value> args;
    for (const Expr& a : n.args) args.push_back((*this)(a));
    const Elem elem = n.args[0].type().elem;
    if (!ir::info(n.fn).on_floats)
      return int_lanes(n.type.lanes,
                       [&](size_t i) { return ir::int_call(n.fn, elem, args[0].ints[i]); });
    const auto lane = [&](size_t i) {
      double in[3] = {};
      for (size_t k = 0; k < args.size(); ++k) in[k] = args[k].floats[i];
      return ir::float_call(n.fn, elem, in);
    };
    if (n.type.is_bool())
      return int_lanes(n.type.lanes, [&](size_t i) { return static_cast<int64_t>(lane(i)); });
    return float_lanes(n.type.lanes, lane);
  }
  Value eval(const ir::Cast& n) {
    const Value v = (*this)(n.value);
    const Elem from = n.value.type().elem, to = n.to;
    const int lanes = n.type.lanes;
    if (ir::is_float(from) && ir::is_float(to))
      return float_lanes(lanes, [&](size_t i) { return ir::round_to(to, v.floats[i]); });
    if (ir::is_float(from))
      return int_lanes(lanes, [&](size_t i) { return ir::float_to_int(to, v.floats[i]); });
    if (ir::is_float(to))
      return float_lanes(lanes, [&](size_t i) { return ir::int_to_float(from, to, v.ints[i]); });
    return int_lanes(lanes, [&](size_t i) { return ir::wrap_int(to, v.ints[i]); });
  }
  Value eval(const ir::Reinterpret& n) {
    const Value v = (*this)(n.value);
    const Elem from = n.value.type().elem, to = n.to;
    Value out;
    for (int i = 0; i < n.type.lanes; ++i) {
      const auto lane = static_cast<size_t>(i);
      const uint64_t bits = ir::is_float(from) ? ir::float_to_bits(from, v.floats[lane])
                                               : static_cast<uint64_t>(v.ints[lane]);
      if (ir::is_float(to))
        out.floats.push_back(ir::float_from_bits(to, bits));
      else
        out.ints.push_back(ir::wrap_int(to, static_cast<int64_t>(bits)));
    }
    return out;
  }
  Value choose(const Expr& cond, const Value& yes, const Value& no, ir::Type type) {
    const Value c = (*this)(cond);
    Value out;
    for (int i = 0; i < type.lanes; ++i) {
      const auto lane = static_cast<size_t>(i);
      const Value& from = c.ints[c.ints.size() == 1 ? 0 : lane] ? yes : no;
      if (type.is_float())
        out.floats.push_back(from.floats[lane]);
      else
        out.ints.push_back(from.ints[lane]);
    }
    return out;
  }
  Value eval(const ir::Select& n) { return choose(n.cond, (*this)(n.yes), (*this)(n.no), n.type); }
  Value eval(const ir::Guard& n) { return (*this)((*this)(n.cond).ints[0] ? n.yes : n.no); }
  Value eval(const ir::Load& n) {
    std::vector<Value> indices;
    for (const Expr& i : n.indices) indices.push_back((*this)(i));
    const Value mask = n.mask ? (*this)(n.mask) : Value{};
    Value out;
    for (int i = 0; i < n.type.lanes; ++i) {
      const auto lane = static_cast<size_t>(i);
      uint64_t h = std::hash<std::string>()(n.buffer->name);
      for (const Value& index : indices)
        h = (h ^ static_cast<uint64_t>(index.ints[index.ints.size() == 1 ? 0 : lane])) *
            0x9E3779B97F4A7C15u;
      h ^= h >> 31;
      if (n.mask && !mask.ints[lane]) h = 0;
      if (ir::is_float(n.buffer->elem))
        out.floats.push_back(ir::round_to(n.buffer->elem, static_cast<double>(h % 1000) / 8));
      else
        out.ints.push_back(ir::wrap_int(n.buffer->elem, static_cast<int64_t>(h)));
    }
    return out;
  }
  Value eval(const ir::Ramp& n) {
    const int64_t base = (*this)(n.base).ints[0], stride = (*this)(n.stride).ints[0];
    const Elem elem = n.type.elem;
    return int_lanes(n.lanes, [&](size_t i) {
      const int64_t offset = ir::int_binary(ir::BinaryOp::Mul, elem, stride,
                                            ir::wrap_int(elem, static_cast<int64_t>(i)));
      return ir::int_binary(ir::BinaryOp::Add, elem, base, offset);
    });
  }
  Value eval(const ir::Broadcast& n) {
    const Value v = (*this)(n.value);
    Value out;
    if (n.type.is_float())
      out.floats.assign(static_cast<size_t>(n.lanes), v.floats[0]);
    else
      out.ints.assign(static_cast<size_t>(n.lanes), v.ints[0]);
    return out;
  }
  Value eval(const ir::VectorReduce& n) {
    const Value v = (*this)(n.value);
    Value out = n.type.is_float() ? Value::of_float(v.floats[0]) : Value::of(v.ints[0]);
    for (size_t i = 1; i < v.ints.size(); ++i)
      out.ints[0] = ir::int_binary(n.op, n.type.elem, out.ints[0], v.ints[i]);
    for (size_t i = 1; i < v.floats.size(); ++i)
      out.floats[0] = ir::float_binary(n.op, n.type.elem, out.floats[0], v.floats[i]);
    return out;
  }

  const Values& values_;
};

}  // namespace

bool same(const Value& a, const Value& b) {
  if (a.ints != b.ints || a.floats.size() != b.floats.size()) return false;
  for (size_t i = 0; i < a.floats.size(); ++i) {
    const double x = a.floats[i], y = b.floats[i];
    if (std::isnan(x) && std::isnan(y)) continue;
    if (std::memcmp(&x, &y, sizeof x) != 0) return false;
  }
  return true;
}

Value evaluate(const Expr& e, const Values& values) { return Evaluator(values)(e); }

}  // namespace tilewright::arith
