// SPDX-License-Identifier: Apache-2.0
// Random expressions of every type, lanes included, against the interpreter. Functions that may
// differ in the last place are left out: one such bit changes everything that follows.
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "common/random_ir.h"
#include "ir/build.h"
#include "ir/interpret/interpret.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "target/c_source/compiled.h"

namespace tilewright::target::c_source {
namespace {

using namespace ir;

bool is_exact(const Expr& e) {
  bool exact = true;
  walk(e, [&](const Call& c) {
    exact = exact && (!info(c.fn).transcendental || c.fn == MathFn::Sqrt ||
                      (c.fn >= MathFn::Floor && c.fn <= MathFn::Trunc) || c.fn == MathFn::Fmod ||
                      c.fn == MathFn::CopySign);
  });
  // The bits of a NaN are not defined, so a float seen as an integer is not either.
  walk(e, [&](const Reinterpret& r) { exact = exact && !r.value.type().is_float(); });
  return exact;
}

/// Most lanes of any part.
int widest(const Expr& e) {
  int lanes = e.type().lanes;
  for_each_child(e, [&](const Expr& c) { lanes = std::max(lanes, widest(c)); });
  return lanes;
}

/// Constants in memory, so that nothing is known of them when code is made.
class Constants {
 public:
  /// About half of the constants of `e` become loads.
  Expr hide(const Expr& e, std::mt19937_64& gen) {
    const auto load_of = [&](Elem elem, uint64_t cell) -> Expr {
      std::vector<uint64_t>& cells = cells_[elem];
      cells.push_back(cell);
      return load(buffer(elem), {static_cast<int64_t>(cells.size()) - 1});
    };
    return rewrite(
        e,
        [&](const IntImm& c, auto&) -> Expr {
          return gen() % 2 ? Expr::of(c) : load_of(c.of.elem, static_cast<uint64_t>(c.value));
        },
        [&](const FloatImm& c, auto&) -> Expr {
          return gen() % 2 ? Expr::of(c) : load_of(c.of.elem, std::bit_cast<uint64_t>(c.value));
        });
  }
  Buffer buffer(Elem elem) {
    Buffer& b = buffers_[elem];
    if (!b) b = make_buffer(str("k_", name(elem)), elem, {kMax});
    return b;
  }
  void finish(LoopFunc& f, std::vector<Array>& args) {
    for (auto& [elem, b] : buffers_) {
      f.params.push_back({b, Access::In});
      Array a = make_array(elem, {kMax});
      std::copy(cells_[elem].begin(), cells_[elem].end(), a.cells.begin());
      args.push_back(std::move(a));
    }
  }

 private:
  static constexpr int64_t kMax = 20000;
  std::map<Elem, Buffer> buffers_;
  std::map<Elem, std::vector<uint64_t>> cells_;
};

TEST(RandomExpr, EqualsTheInterpreter) {
  constexpr int kFunctions = 12, kEach = 60;
  std::vector<LoopFunc> funcs;
  std::vector<std::vector<Array>> all_args;
  std::vector<std::vector<Expr>> exprs;
  for (int n = 0; n < kFunctions; ++n) {
    std::mt19937_64 gen(static_cast<uint64_t>(n));
    RandomIr random(static_cast<uint64_t>(n) + 1);
    Constants constants;
    LoopFunc f;
    f.name = str("random", n);
    f.stage = Stage::Final;
    std::vector<Array> args;
    std::vector<Stmt> body;
    exprs.emplace_back();
    while (static_cast<int>(body.size()) < kEach) {
      const auto elem = static_cast<Elem>(gen() % kElemCount);
      const int lanes = gen() % 3 == 0 ? 4 : 1;
      const Expr e = random.expr({elem, lanes}, 6);
      if (!is_exact(e) || widest(e) > 8) continue;
      const Expr hidden = constants.hide(e, gen);
      const Buffer out = make_buffer(str("out", body.size()), elem, {lanes});
      f.params.push_back({out, Access::Out});
      args.push_back(make_array(elem, {lanes}));
      const Expr index = lanes == 1 ? Expr(0) : make<Ramp>({}, Expr(0), Expr(1), lanes);
      body.push_back(make_stmt<Store>({}, out, std::vector<Expr>{index}, hidden));
      exprs.back().push_back(hidden);
    }
    f.body = seq(std::move(body));
    constants.finish(f, args);
    funcs.push_back(f);
    all_args.push_back(std::move(args));
  }
  const Compiled compiled(funcs);
  for (size_t n = 0; n < funcs.size(); ++n) {
    std::vector<Array> want = all_args[n];
    interpret(funcs[n], want);
    compiled.run(n, all_args[n]);
    for (size_t k = 0; k < exprs[n].size(); ++k)
      EXPECT_TRUE(same_bits(all_args[n][k], want[k]))
          << print(exprs[n][k]) << "\n  got " << all_args[n][k].as_double(0) << ", want "
          << want[k].as_double(0);
  }
}

}  // namespace
}  // namespace tilewright::target::c_source
