// SPDX-License-Identifier: Apache-2.0
// Every operator, function and cast on every type, on edge values and random ones, against the
// interpreter: bit for bit, but for the functions that may differ by a few units of the last place.
#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "ir/build.h"
#include "ir/interpret/interpret.h"
#include "ir/scalar.h"
#include "support/str.h"
#include "target/c_source/compiled.h"

namespace tilewright::target::c_source {
namespace {

using namespace ir;

constexpr int64_t kCount = 512;

std::vector<int64_t> int_edges(Elem e) {
  if (e == Elem::Bool) return {0, 1};
  std::vector<int64_t> v;
  const auto hi = static_cast<int64_t>(int_max(e));
  for (const int64_t x :
       {int_min(e), hi, hi - 1, int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{-2},
        int64_t{7}, int64_t{-7}, int64_t{31}, int64_t{32}, int64_t{63}, int64_t{64}, int64_t{-100}})
    v.push_back(wrap_int(e, x));
  return v;
}

std::vector<double> float_edges(Elem e) {
  std::vector<double> v;
  for (const double x : {0.0,
                         1.0,
                         0.5,
                         1.5,
                         2.5,
                         0.75,
                         127.5,
                         240.0,
                         248.0,
                         448.0,
                         464.0,
                         57344.0,
                         65504.0,
                         65520.0,
                         2147483648.0,
                         4294967295.0,
                         1e18,
                         9.3e18,
                         1.9e19,
                         3.4e38,
                         1.5e308,
                         1e-3,
                         6e-8,
                         1e-38,
                         1e-40,
                         1e-45,
                         5e-324,
                         1.0 / 3,
                         std::numeric_limits<double>::infinity()})
    for (const double s : {x, -x}) v.push_back(round_to(e, s));
  v.push_back(round_to(e, std::nan("")));
  return v;
}

/// Pairs of edge values first, random bits behind; a few floats of ordinary size.
Array values(Elem e, int which) {
  std::mt19937_64 gen(static_cast<uint64_t>(which) * 77 + static_cast<uint64_t>(e));
  Array a = make_array(e, {kCount});
  for (int64_t i = 0; i < kCount; ++i) {
    const auto pick = [&](const auto& edges) {
      const auto n = static_cast<int64_t>(edges.size());
      return edges[static_cast<size_t>(which == 0 ? i % n : (i / n + i * 7 * (which - 1)) % n)];
    };
    if (is_float(e)) {
      const bool plain = gen() % 4 == 0;
      const double any =
          float_from_bits(e, bits(e) == 64 ? gen() : gen() & ((uint64_t{1} << bits(e)) - 1));
      const double small = round_to(e, std::ldexp(static_cast<double>(gen() % 4001) - 2000, -9));
      a.cells[static_cast<size_t>(i)] =
          std::bit_cast<uint64_t>(i < kCount / 2 ? pick(float_edges(e))
                                  : plain        ? small
                                                 : any);
    } else {
      a.cells[static_cast<size_t>(i)] = static_cast<uint64_t>(
          i < kCount / 2 ? pick(int_edges(e)) : wrap_int(e, static_cast<int64_t>(gen())));
    }
  }
  return a;
}

struct Row {
  std::string name;
  Expr value;
  bool approximate = false;
};

/// One function that computes every row for each element of its inputs.
struct Table {
  std::vector<Buffer> inputs;
  std::vector<Row> rows;
  Var i{"i"};

  explicit Table(std::vector<Elem> elems) {
    for (const Elem e : elems) inputs.push_back(make_buffer(str("in", inputs.size()), e, {kCount}));
  }
  Expr in(size_t k) const { return load(inputs[k], {i}); }

  LoopFunc function(std::string name) const {
    LoopFunc f;
    f.name = std::move(name);
    f.stage = Stage::Final;
    std::vector<Stmt> body;
    for (const Buffer& b : inputs) f.params.push_back({b, Access::In});
    for (const Row& r : rows) {
      const Buffer out = make_buffer("out", r.value.type().elem, {kCount});
      f.params.push_back({out, Access::Out});
      body.push_back(make_stmt<Store>({}, out, std::vector<Expr>{i}, r.value));
    }
    f.body = make_stmt<For>({}, i, Expr(0), Expr(kCount), seq(std::move(body)));
    return f;
  }
};

bool can_make(auto make) {
  try {
    make();
    return true;
  } catch (const CheckError&) {
    return false;
  }
}

void add_operators(Table& t) {
  const Expr a = t.in(0), b = t.in(1), c = t.in(2);
  for (int k = 0; k < kBinaryOpCount; ++k) {
    const auto op = static_cast<BinaryOp>(k);
    if (can_make([&] { make<Binary>({}, op, a, b); }))
      t.rows.push_back({std::string(info(op).text), make<Binary>({}, op, a, b)});
  }
  for (int k = 0; k < kUnaryOpCount; ++k) {
    const auto op = static_cast<UnaryOp>(k);
    if (can_make([&] { make<Unary>({}, op, a); }))
      t.rows.push_back({std::string(info(op).text), make<Unary>({}, op, a)});
  }
  for (int k = 0; k < kMathFnCount; ++k) {
    const auto fn = static_cast<MathFn>(k);
    std::vector<Expr> args = {a, b, c};
    args.resize(static_cast<size_t>(info(fn).args));
    const bool exact = fn == MathFn::Sqrt || fn == MathFn::Fmod || fn == MathFn::CopySign ||
                       (fn >= MathFn::Floor && fn <= MathFn::Trunc);
    if (can_make([&] { make<Call>({}, fn, args); }))
      t.rows.push_back({std::string(info(fn).name), make<Call>({}, fn, args),
                        info(fn).transcendental && !exact});
  }
  const Elem elem = a.type().elem;
  t.rows.push_back({"select", select(eq(a, b), b, c)});
  for (int k = 0; k < kElemCount; ++k) {
    const auto to = static_cast<Elem>(k);
    t.rows.push_back({str("cast to ", name(to)), make<Cast>({}, to, a)});
    if (can_make([&] { make<Reinterpret>({}, to, a); }))
      t.rows.push_back({str("bits as ", name(to)), make<Reinterpret>({}, to, a)});
  }
  if (!is_int(elem)) return;
  // With a constant the text is an operator of C wherever that means the same.
  for (const int64_t v : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{3}, int64_t{-7}}) {
    const Expr constant = int_imm(elem, wrap_int(elem, v));
    for (const BinaryOp op :
         {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Mod, BinaryOp::Shl,
          BinaryOp::Shr, BinaryOp::BitAnd, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Eq}) {
      t.rows.push_back({str(info(op).text, " ", v), make<Binary>({}, op, a, constant)});
      t.rows.push_back({str(v, " ", info(op).text), make<Binary>({}, op, constant, a)});
    }
  }
}

/// Neighbouring floats have neighbouring numbers; -0 and 0 have the same.
int64_t rank(Elem e, double v) {
  const auto magnitude = static_cast<int64_t>(float_to_bits(e, std::fabs(v)));
  return std::signbit(v) ? -magnitude : magnitude;
}

void expect_same(const Table& table, const Row& row, const std::vector<Array>& args,
                 const Array& want, const Array& got) {
  for (int64_t i = 0; i < kCount; ++i) {
    const bool is_float = ir::is_float(want.elem);
    const double w = want.as_double(i), g = got.as_double(i);
    bool ok = want.cells[static_cast<size_t>(i)] == got.cells[static_cast<size_t>(i)];
    if (is_float) ok = ok || (std::isnan(w) && std::isnan(g));
    if (row.approximate && !std::isnan(w) && !std::isnan(g))
      ok = std::llabs(rank(want.elem, w) - rank(want.elem, g)) <= (want.elem == Elem::F64 ? 4 : 1);
    // A NaN has no defined sign to copy.
    if (ok || (row.name == "copysign" && std::isnan(args[1].as_double(i)))) continue;
    std::string inputs;
    for (size_t k = 0; k < table.inputs.size(); ++k)
      inputs +=
          str(" ", ir::is_float(args[k].elem) ? str(args[k].as_double(i)) : str(args[k].as_int(i)));
    ADD_FAILURE() << name(table.inputs[0]->elem) << " " << row.name << " of" << inputs << ": got "
                  << (is_float ? str(g) : str(got.as_int(i))) << ", want "
                  << (is_float ? str(w) : str(want.as_int(i)));
    return;
  }
}

TEST(ScalarOps, EqualTheInterpreterOnEveryType) {
  std::vector<Table> tables;
  std::vector<LoopFunc> funcs;
  for (int k = 0; k < kElemCount; ++k) {
    const auto e = static_cast<Elem>(k);
    tables.emplace_back(std::vector<Elem>{e, e, e});
    add_operators(tables.back());
    funcs.push_back(tables.back().function(str("ops_", name(e))));
  }
  const Compiled compiled(funcs);
  for (size_t k = 0; k < tables.size(); ++k) {
    const Table& t = tables[k];
    std::vector<Array> args;
    for (size_t n = 0; n < t.inputs.size(); ++n)
      args.push_back(values(t.inputs[n]->elem, static_cast<int>(n)));
    for (const Row& r : t.rows) args.push_back(make_array(r.value.type().elem, {kCount}));
    std::vector<Array> want = args;
    interpret(funcs[k], want);
    compiled.run(k, args);
    for (size_t r = 0; r < t.rows.size(); ++r)
      expect_same(t, t.rows[r], args, want[t.inputs.size() + r], args[t.inputs.size() + r]);
  }
  for (const std::string& name : compiled.imports())
    EXPECT_TRUE(name == "memcpy" || name == "memset") << name;
}

}  // namespace
}  // namespace tilewright::target::c_source
