// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_node.h"
#include "ops/loops.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Buffer;
using ir::Expr;
using ir::Stmt;

struct TopKAttrs {
  int64_t axis = -1;
  bool largest = true;  // else the least ones
  static constexpr auto fields =
      std::tuple{field("axis", &TopKAttrs::axis), field("largest", &TopKAttrs::largest)};
};

// Inputs: x, and k as an integer tensor of one element. Results: values, indices (i64).
std::vector<Type> infer(const Call& call) {
  const TensorType& x = call.tensor(0);
  const int axis = normal_axis(call, call.attrs<TopKAttrs>().axis, x.rank());
  const auto d = static_cast<size_t>(axis);
  const Dim k = call.extent(call.element(1, 0));
  call.check(k <= x.shape[d], "k is at most the extent of the axis");
  TensorType values{.elem = x.elem, .shape = x.shape};
  values.shape[d] = k;
  TensorType indices = values;
  indices.elem = ir::Elem::I64;
  return {values, indices};
}

/// The k best of a row in a heap whose root is the worst of them, in place in the results.
class Heap {
 public:
  Heap(Buffer values, Buffer indices, Coords row, int axis, bool largest)
      : values_(std::move(values)),
        indices_(std::move(indices)),
        row_(std::move(row)),
        axis_(axis),
        largest_(largest) {}

  Expr value(const Expr& i) const { return ir::load(values_, place(i)); }
  Expr index(const Expr& i) const { return ir::load(indices_, place(i)); }
  Stmt put(const Expr& i, const Expr& x, const Expr& at) const {
    return steps({store(values_, place(i), x), store(indices_, place(i), at)});
  }
  /// Does x come after y? Of equal ones that with the greater index.
  Expr worse(const Expr& x, const Expr& at, const Expr& y, const Expr& y_at) const {
    return ir::logical_or(largest_ ? x < y : y < x, ir::logical_and(ir::eq(x, y), y_at < at));
  }

  /// Puts x into the free place at the end, and lets it rise.
  Stmt push(const Scalar& at, const Expr& size, const Expr& x, const Expr& x_at) const {
    const Expr parent = (at.get() - 1) / 2;
    const Expr rises =
        ir::guard(at.get() > 0, worse(x, x_at, value(parent), index(parent)), ir::bool_imm(false));
    return steps({at.set(size),
                  loop_while(rises, let("up", parent,
                                        [&](const Expr& up) {
                                          return steps(
                                              {put(at.get(), value(up), index(up)), at.set(up)});
                                        })),
                  put(at.get(), x, x_at)});
  }
  /// Puts x in place of the root of a heap of this size, and lets it sink.
  Stmt replace_root(const Scalar& at, const Scalar& child, const Expr& size, const Expr& x,
                    const Expr& x_at) const {
    const Expr l = 2 * at.get() + 1;
    const Expr worst_child =
        ir::guard(l + 1 < size,
                  ir::select(worse(value(l + 1), index(l + 1), value(l), index(l)), l + 1, l), l);
    const Expr c = child.get();
    const Expr sinks = ir::guard(c < size, worse(value(c), index(c), x, x_at), ir::bool_imm(false));
    // `l + 1 < size` keeps the look at the children inside of the heap; without a child, c = l >=
    // size.
    const Stmt choose = child.set(worst_child);
    return steps({at.set(0), choose,
                  loop_while(sinks, steps({put(at.get(), value(c), index(c)), at.set(c), choose})),
                  put(at.get(), x, x_at)});
  }

 private:
  Coords place(const Expr& i) const { return inserted(row_, axis_, i); }

  Buffer values_, indices_;
  Coords row_;
  int axis_;
  bool largest_;
};

/// Does x come before y, whatever their indices?
Expr better(bool largest, const Expr& x, const Expr& y) { return largest ? y < x : x < y; }

/// All of a row in order, of which the first k are the result: runs of the row are merged, twice as
/// long each time, from one of two copies into the other.
Stmt sorted_row(const LoopForm& f, const Coords& v, int axis, bool largest, const Expr& n,
                const Expr& k) {
  const Buffer values = ir::make_buffer("values", f.in(0)->elem, {2, n});
  const Buffer indices = ir::make_buffer("indices", ir::Elem::I64, {2, n});
  const Scalar width("width", ir::Elem::I64), now("now", ir::Elem::I64);
  const Scalar a("a", ir::Elem::I64), b("b", ir::Elem::I64);
  // One element of the runs lo .. mid and mid .. hi. Nothing branches on what is compared: of
  // values in no order the processor could not tell beforehand.
  const auto merge = [&](const Expr& from, const Expr& at, const Expr& mid, const Expr& hi) {
    return let("left", ir::min(a.get(), n - 1), [&](const Expr& left) {
      return let("right", ir::min(b.get(), n - 1), [&](const Expr& right) {
        const Expr x = ir::load(values, {from, left}), y = ir::load(values, {from, right});
        const Expr takes_right =
            ir::logical_and(b.get() < hi, ir::logical_or(mid <= a.get(), better(largest, y, x)));
        return let("takes_right", takes_right, [&](const Expr& is_right) {
          const Expr taken = ir::select(is_right, right, left);
          return steps({store(values, {1 - from, at}, ir::select(is_right, y, x)),
                        store(indices, {1 - from, at}, ir::load(indices, {from, taken})),
                        a.add(ir::select(is_right, Expr(0), Expr(1))),
                        b.add(ir::select(is_right, Expr(1), Expr(0)))});
        });
      });
    });
  };
  const auto pass = [&](const Expr& from, const Expr& w) {
    return each("run", ir::ceil_div(n, 2 * w), [&](const Expr& run) {
      const Expr lo = run * 2 * w;
      return let("mid", ir::min(lo + w, n), [&](const Expr& mid) {
        return let("hi", ir::min(lo + 2 * w, n), [&](const Expr& hi) {
          return steps({a.set(lo), b.set(mid), each("t", hi - lo, [&](const Expr& t) {
                          return merge(from, lo + t, mid, hi);
                        })});
        });
      });
    });
  };
  const auto put_in = [&](const Expr& c) {
    return steps({store(values, {0, c}, ir::load(f.in(0), inserted(v, axis, c))),
                  store(indices, {0, c}, c)});
  };
  const auto take_out = [&](const Expr& c) {
    return steps({store(f.out(0), inserted(v, axis, c), ir::load(values, {now.get(), c})),
                  store(f.out(1), inserted(v, axis, c), ir::load(indices, {now.get(), c}))});
  };
  const Stmt passes =
      loop_while(width.get() < n, let("from", now.get(), [&](const Expr& from) {
                   return let("w", width.get(), [&](const Expr& w) {
                     return steps({pass(from, w), width.set(2 * w), now.set(1 - from)});
                   });
                 }));
  return with(
      {values, indices, width, now, a, b},
      steps({each("c", n, put_in), width.set(1), now.set(0), passes, each("c", k, take_out)}));
}

/// Elements of a row whose best one is known before they are looked at one by one.
int64_t stretch_of(const Expr& n) {
  constexpr int64_t kShort = 32, kLong = 128, kLongRow = 8192;
  return ir::const_int(n).value_or(kLongRow) < kLongRow ? kShort : kLong;
}

/// bests[row, s] = the best of x[row, s * length + 0 … length - 1]
Stmt find_bests(const LoopForm& f, const Buffer& bests, int axis, bool largest, int64_t length) {
  std::vector<Expr> extents = bests->shape;
  extents.emplace_back(length);
  const ir::Reducer best =
      ir::builtin_reducer(largest ? ir::BinaryOp::Max : ir::BinaryOp::Min, bests->elem);
  return each(extents, [&](const Coords& loops) {
    std::vector<ir::BlockIter> iters;
    Coords at;
    for (size_t d = 0; d < extents.size(); ++d) {
      const ir::Var var(str("v", d));
      const bool last = d + 1 == extents.size();
      iters.push_back(
          {var, last ? ir::IterKind::Reduction : ir::IterKind::Spatial, extents[d], loops[d]});
      at.push_back(var);
    }
    const Coords target(at.begin(), at.end() - 1);
    const Coords from =
        inserted(Coords(at.begin(), at.end() - 2), axis, target.back() * length + at.back());
    return ir::make_stmt<ir::Block>(
        {}, "bests", std::move(iters), Expr(), std::vector{part(f.in(0), from)},
        std::vector{part(bests, target)}, store(bests, target, best->identity[0]),
        ir::make_stmt<ir::Update>({}, best, std::vector{ir::Target{bests, target}},
                                  std::vector{ir::load(f.in(0), from)}));
  });
}

/// The k best of a row, kept in a heap while the others pass by.
Stmt selected_row(const LoopForm& f, const Buffer& bests, const Coords& v, int axis, bool largest,
                  const Expr& n, const Expr& k) {
  const Scalar at("at", ir::Elem::I64), child("child", ir::Elem::I64), worst("worst", bests->elem);
  const int64_t length = stretch_of(n);
  const Heap heap(f.out(0), f.out(1), v, axis, largest);
  const auto element = [&](const Expr& c) { return ir::load(f.in(0), inserted(v, axis, c)); };
  const auto first = [&](const Expr& c) {
    return let("x", element(c), [&](const Expr& x) { return heap.push(at, c, x, c); });
  };
  const auto among = [&](const Expr& begin, const Expr& end) {
    return each("c", end - begin, [&](const Expr& i) {
      return let("x", element(begin + i), [&](const Expr& x) {
        // Of equal ones the heap has the first.
        return when(
            better(largest, x, worst.get()),
            steps({heap.replace_root(at, child, k, x, begin + i), worst.set(heap.value(0))}));
      });
    });
  };
  // A stretch is left out where its best is no better than the worst of the heap; NaN says nothing.
  const Expr skipped = ir::ceil_div(k, Expr(length)), whole = n / length;
  const auto stretch = [&](const Expr& i) {
    return let("s", skipped + i, [&](const Expr& s) {
      Coords place = v;
      place.push_back(s);
      const Expr best = ir::load(bests, place), least = worst.get();
      return when(ir::logical_not(largest ? best <= least : least <= best),
                  among(s * length, (s + 1) * length));
    });
  };
  const Expr begin = ir::min(skipped * length, n);
  const Stmt others = when(k > 0, steps({worst.set(heap.value(0)), among(k, begin),
                                         each("i", ir::max(whole - skipped, 0), stretch),
                                         among(ir::max(begin, whole * length), n)}));
  // The worst of those left goes to the end of them.
  const auto settle = [&](const Expr& t) {
    return let("last", k - 1 - t, [&](const Expr& last) {
      return let("x", heap.value(last), [&](const Expr& x) {
        return let("x_at", heap.index(last), [&](const Expr& x_at) {
          return steps({heap.put(last, heap.value(0), heap.index(0)),
                        heap.replace_root(at, child, last, x, x_at)});
        });
      });
    });
  };
  return with({at, child, worst}, steps({each("c", k, first), others, each("t", k - 1, settle)}));
}

/// Is so much of the row wanted that all of it may as well be sorted?
bool wants_most(const Expr& n, const Expr& k) {
  const auto extent = ir::const_int(n), wanted = ir::const_int(k);
  return extent && wanted ? *wanted > *extent / 8 : same(n, k);
}

ir::LoopFunc loops(const Call& call) {
  const TopKAttrs& attrs = call.attrs<TopKAttrs>();
  const LoopForm f(call, "top_k", 2);
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  const Expr n = call.shape(0)[static_cast<size_t>(axis)];
  const Expr k = call.out(0).shape[static_cast<size_t>(axis)];
  const bool sorts = wants_most(n, k);
  std::vector<Expr> rows = without(call.shape(0), axis);
  rows.push_back(n / stretch_of(n));
  const Buffer bests = ir::make_buffer("bests", call.elem(0), rows);
  const auto results = [&](const Coords& v) {
    const Coords all = inserted(v, axis, Expr());
    return std::vector{part(f.out(0), all), part(f.out(1), all)};
  };
  const Stmt all = independent(
      "top_k", without(call.shape(0), axis),
      [&](const Coords& v) {
        std::vector<ir::Region> reads = results(v);
        reads.push_back(part(f.in(0), inserted(v, axis, Expr())));
        if (!sorts) reads.push_back(part(bests, inserted(v, call.rank(0) - 1, Expr())));
        return reads;
      },
      results,
      [&](const Coords& v) {
        return sorts ? sorted_row(f, v, axis, attrs.largest, n, k)
                     : selected_row(f, bests, v, axis, attrs.largest, n, k);
      });
  if (sorts) return f.func(all);
  return f.func(
      with({bests}, steps({find_bests(f, bests, axis, attrs.largest, stretch_of(n)), all})));
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const TopKAttrs attrs{.axis = n.attr_int("axis", -1), .largest = n.attr_int("largest", 1) != 0};
  g.outputs(n, g.calls(top_k_op(), attrs, {n.need(0), n.need(1)}, 2));
}

void from_onnx_1(const OnnxNode& n, Builder& g) {
  const ValueId k = g.ints({n.attr_int("k")});
  g.outputs(n, g.calls(top_k_op(), TopKAttrs{.axis = n.attr_int("axis", -1), .largest = true},
                       {n.need(0), k}, 2));
}

}  // namespace

const OpDef& top_k_op() {
  static const OpDef def =
      define_op<TopKAttrs>({.name = "top_k",
                            .infer = infer,
                            .loops = loops,
                            .onnx = {{.op = "TopK", .from = 1, .rule = from_onnx_1, .to = 9},
                                     {.op = "TopK", .from = 10, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
