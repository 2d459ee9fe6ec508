// SPDX-License-Identifier: Apache-2.0
// Every operator on every element type, as scalars and as vectors, against the definition in
// ir/scalar.h.
#include <functional>

#include "gtest/gtest.h"

#include "support/str.h"
#include "target/host.h"
#include "target/llvm/arrays.h"
#include "target/llvm/compile.h"
#include "target/llvm/programs.h"

namespace tilewright::target::llvm {
namespace {

using ir::BinaryOp;
using ir::Elem;
using ir::Expr;
using ir::MathFn;

constexpr int64_t kElements = 8192;

/// out_i[…] = outputs[i](a[…], b[…], c[…]) for each output, in steps of `lanes`.
using Output = std::function<Expr(const Expr&, const Expr&, const Expr&)>;

struct Results {
  Array a, b, c;
  std::vector<Array> out;
};

Results run(Elem elem, int lanes, const std::vector<Output>& outputs) {
  using namespace ir;
  Results r{{elem, kElements}, {elem, kElements}, {elem, kElements}, {}};
  fill_pairs(r.a, r.b, 1);
  std::mt19937_64 gen(7);
  for (int64_t i = 0; i < kElements; ++i) r.c.set_bits(i, random_bits(elem, gen));

  const Buffer a = array("a", elem, kElements), b = array("b", elem, kElements),
               c = array("c", elem, kElements);
  const Var i("i");
  const Expr at = lanes == 1 ? Expr(i) : ramp(Expr(i) * lanes, lanes);
  std::vector<Param> params{{a, Access::In}, {b, Access::In}, {c, Access::In}};
  std::vector<Stmt> body;
  for (const Output& f : outputs) {
    const Expr value = f(load(a, {at}), load(b, {at}), load(c, {at}));
    const Buffer out = array("out", value.type().elem, kElements);
    params.push_back({out, Access::Out});
    r.out.emplace_back(value.type().elem, kElements);
    body.push_back(tilewright::target::llvm::store(out, at, value));
  }
  const JitKernel kernel =
      compile(final_func("f", params, loop(i, kElements / lanes, seq(body))), host_target());
  std::vector<void*> buffers{r.a.data(), r.b.data(), r.c.data()};
  for (Array& o : r.out) buffers.push_back(o.data());
  kernel.call(buffers);
  return r;
}

/// Compares output `n` with `expected(i)`; reports the first few differences.
void compare_ints(const Results& r, size_t n, const std::string& what,
                  const std::function<int64_t(int64_t)>& expected) {
  int reported = 0;
  for (int64_t i = 0; i < kElements && reported < 3; ++i)
    if (r.out[n].int_at(i) != expected(i)) {
      ++reported;
      ADD_FAILURE() << what << " of bits " << r.a.bits_at(i) << ", " << r.b.bits_at(i) << " is "
                    << r.out[n].int_at(i) << ", not " << expected(i);
    }
}
void compare_floats(const Results& r, size_t n, const std::string& what,
                    const std::function<double(int64_t)>& expected) {
  int reported = 0;
  for (int64_t i = 0; i < kElements && reported < 3; ++i)
    if (!same(r.out[n].float_at(i), expected(i))) {
      ++reported;
      ADD_FAILURE() << what << " of bits " << std::hex << r.a.bits_at(i) << ", " << r.b.bits_at(i)
                    << std::dec << " (" << r.a.float_at(i) << ", " << r.b.float_at(i) << ") is "
                    << r.out[n].float_at(i) << ", not " << expected(i);
    }
}

class ScalarOps : public testing::TestWithParam<std::tuple<Elem, int>> {
 protected:
  Elem elem() const { return std::get<0>(GetParam()); }
  int lanes() const { return std::get<1>(GetParam()); }
};

TEST_P(ScalarOps, Binary) {
  std::vector<BinaryOp> ops;
  std::vector<Output> outputs;
  const Expr x = ir::Var("x", {elem(), 1});
  for (int i = 0; i < ir::kBinaryOpCount; ++i) {
    const auto op = static_cast<BinaryOp>(i);
    try {
      ir::make<ir::Binary>({}, op, x, x);
    } catch (const ir::CheckError&) {
      continue;  // not an operator of this type
    }
    ops.push_back(op);
    outputs.push_back([op](const Expr& a, const Expr& b, const Expr&) {
      return ir::make<ir::Binary>({}, op, a, b);
    });
  }
  const Results r = run(elem(), lanes(), outputs);
  for (size_t n = 0; n < ops.size(); ++n) {
    const BinaryOp op = ops[n];
    const std::string what = str("`", ir::info(op).text, "`");
    if (!ir::is_float(elem()))
      compare_ints(r, n, what, [&](int64_t i) {
        return ir::int_binary(op, elem(), r.a.int_at(i), r.b.int_at(i));
      });
    else if (ir::is_compare(op))
      compare_ints(r, n, what, [&](int64_t i) {
        return ir::float_compare(op, r.a.float_at(i), r.b.float_at(i));
      });
    else
      compare_floats(r, n, what, [&](int64_t i) {
        return ir::float_binary(op, elem(), r.a.float_at(i), r.b.float_at(i));
      });
  }
}

TEST_P(ScalarOps, Unary) {
  std::vector<ir::UnaryOp> ops;
  std::vector<Output> outputs;
  const Expr x = ir::Var("x", {elem(), 1});
  for (int i = 0; i < ir::kUnaryOpCount; ++i) {
    const auto op = static_cast<ir::UnaryOp>(i);
    try {
      ir::make<ir::Unary>({}, op, x);
    } catch (const ir::CheckError&) {
      continue;
    }
    ops.push_back(op);
    outputs.push_back(
        [op](const Expr& a, const Expr&, const Expr&) { return ir::make<ir::Unary>({}, op, a); });
  }
  const Results r = run(elem(), lanes(), outputs);
  for (size_t n = 0; n < ops.size(); ++n) {
    const std::string what = str("`", ir::info(ops[n]).text, "`");
    if (ir::is_float(elem()))
      compare_floats(r, n, what,
                     [&](int64_t i) { return ir::float_unary(ops[n], elem(), r.a.float_at(i)); });
    else
      compare_ints(r, n, what,
                   [&](int64_t i) { return ir::int_unary(ops[n], elem(), r.a.int_at(i)); });
  }
}

TEST_P(ScalarOps, ExactFunctions) {
  const bool is_float = ir::is_float(elem());
  if (elem() == Elem::Bool) return;
  std::vector<MathFn> fns;
  if (is_float)
    fns = {MathFn::Floor, MathFn::Ceil,  MathFn::Round, MathFn::Trunc,   MathFn::Sqrt,
           MathFn::IsNan, MathFn::IsInf, MathFn::Fma,   MathFn::CopySign};
  else
    fns = {MathFn::Popcount, MathFn::Clz};
  std::vector<Output> outputs;
  for (const MathFn fn : fns)
    outputs.push_back([fn](const Expr& a, const Expr& b, const Expr& c) {
      std::vector<Expr> args{a, b, c};
      args.resize(static_cast<size_t>(ir::info(fn).args));
      return ir::call(fn, args);
    });
  const Results r = run(elem(), lanes(), outputs);
  for (size_t n = 0; n < fns.size(); ++n) {
    const std::string what = str("`", ir::info(fns[n]).name, "`");
    const auto result = [&](int64_t i) {
      const double args[] = {r.a.float_at(i), r.b.float_at(i), r.c.float_at(i)};
      return ir::float_call(fns[n], elem(), args);
    };
    if (!is_float)
      compare_ints(r, n, what,
                   [&](int64_t i) { return ir::int_call(fns[n], elem(), r.a.int_at(i)); });
    else if (r.out[n].elem() == Elem::Bool)
      compare_ints(r, n, what, [&](int64_t i) { return static_cast<int64_t>(result(i)); });
    else
      compare_floats(r, n, what, [&](int64_t i) {
        // The sign of a NaN is not defined.
        if (fns[n] == MathFn::CopySign && std::isnan(r.b.float_at(i))) return r.out[n].float_at(i);
        return ir::round_to(elem(), result(i));
      });
  }
}

TEST_P(ScalarOps, CastsToEveryType) {
  std::vector<Output> outputs;
  std::vector<Elem> to;
  for (int e = 0; e < ir::kElemCount; ++e) {
    to.push_back(static_cast<Elem>(e));
    outputs.push_back([e](const Expr& a, const Expr&, const Expr&) {
      return ir::make<ir::Cast>({}, static_cast<Elem>(e), a);
    });
  }
  const Results r = run(elem(), lanes(), outputs);
  for (size_t n = 0; n < to.size(); ++n) {
    const std::string what = str("cast to ", ir::name(to[n]));
    if (ir::is_float(elem())) {
      if (ir::is_float(to[n]))
        compare_floats(r, n, what, [&](int64_t i) { return ir::round_to(to[n], r.a.float_at(i)); });
      else
        compare_ints(r, n, what,
                     [&](int64_t i) { return ir::float_to_int(to[n], r.a.float_at(i)); });
    } else if (ir::is_float(to[n])) {
      compare_floats(r, n, what,
                     [&](int64_t i) { return ir::int_to_float(elem(), to[n], r.a.int_at(i)); });
    } else {
      compare_ints(r, n, what, [&](int64_t i) { return ir::wrap_int(to[n], r.a.int_at(i)); });
    }
  }
}

TEST_P(ScalarOps, ConstantOperands) {
  // The emitter has shorter forms for constants; they must mean the same.
  std::vector<Output> outputs;
  std::vector<std::pair<BinaryOp, double>> cases;
  const auto add = [&](BinaryOp op, double value, bool first) {
    cases.emplace_back(op, value);
    outputs.push_back([=, this](const Expr& a, const Expr&, const Expr&) {
      const Expr c =
          ir::broadcast(ir::is_float(elem()) ? ir::float_imm(elem(), value)
                                             : ir::int_imm(elem(), static_cast<int64_t>(value)),
                        lanes());
      return first ? ir::make<ir::Binary>({}, op, c, a) : ir::make<ir::Binary>({}, op, a, c);
    });
  };
  std::vector<bool> is_first;
  if (ir::is_float(elem())) {
    for (const double v : {0.0, -0.0, 1.0, -2.0})
      for (const BinaryOp op : {BinaryOp::Min, BinaryOp::Max})
        for (const bool first : {false, true}) {
          add(op, ir::round_to(elem(), v), first);
          is_first.push_back(first);
        }
  } else if (ir::is_int(elem())) {
    for (const double v : {0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 4.0, 7.0, 8.0, 16.0, 100.0})
      for (const BinaryOp op : {BinaryOp::Div, BinaryOp::Mod, BinaryOp::Shl, BinaryOp::Shr}) {
        if (ir::wrap_int(elem(), static_cast<int64_t>(v)) != static_cast<int64_t>(v)) continue;
        add(op, v, false);
        is_first.push_back(false);
      }
  } else {
    return;
  }
  const Results r = run(elem(), lanes(), outputs);
  for (size_t n = 0; n < cases.size(); ++n) {
    const auto [op, v] = cases[n];
    const std::string what = str("`", ir::info(op).text, "` with ", v, is_first[n] ? " first" : "");
    if (ir::is_float(elem()))
      compare_floats(r, n, what, [&, op = op, v = v](int64_t i) {
        const double x = r.a.float_at(i);
        return is_first[n] ? ir::float_binary(op, elem(), v, x)
                           : ir::float_binary(op, elem(), x, v);
      });
    else
      compare_ints(r, n, what, [&, op = op, v = v](int64_t i) {
        return ir::int_binary(op, elem(), r.a.int_at(i), static_cast<int64_t>(v));
      });
  }
}

std::vector<Elem> all_elems() {
  std::vector<Elem> v;
  for (int e = 0; e < ir::kElemCount; ++e) v.push_back(static_cast<Elem>(e));
  return v;
}

INSTANTIATE_TEST_SUITE_P(
    , ScalarOps, testing::Combine(testing::ValuesIn(all_elems()), testing::Values(1, 4, 16)),
    [](const auto& info) {
      return str(ir::name(std::get<0>(info.param)), "x", std::get<1>(info.param));
    });

}  // namespace
}  // namespace tilewright::target::llvm
