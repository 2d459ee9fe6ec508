// SPDX-License-Identifier: Apache-2.0
// Random tensor programs and random schedules of them. A step may refuse; what it accepts must not
// change results.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ir/interpret/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/pipeline.h"
#include "lower/to_blocks.h"
#include "schedule/schedule.h"
#include "schedule/slots.h"
#include "te/te.h"

namespace tilewright::schedule {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  /// lo … hi, both included.
  int64_t in(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(engine_() % static_cast<uint64_t>(hi - lo + 1));
  }
  bool chance(int percent) { return in(1, 100) <= percent; }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[static_cast<size_t>(in(0, static_cast<int64_t>(items.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

/// One to four stages over small odd sizes: pointwise, shifted, transposed and broadcast reads,
/// sums, maxima and products of matrices. Without transcendental functions every result is defined
/// to the last bit.
inline te::Program random_program(Random& random, bool transcendental = true) {
  using te::Expr;
  using te::Tensor;
  const auto size = [&] { return random.in(1, 9); };
  std::vector<Tensor> inputs, all;
  const int64_t count = random.in(1, 3);
  for (int64_t i = 0; i < count; ++i)
    inputs.push_back(te::placeholder("A" + std::to_string(i), ir::Elem::F32, {size(), size()}));
  all = inputs;
  const auto extent = [](const Tensor& t, int d) { return *ir::const_int(t.shape()[d]); };
  const auto pointwise = [&](const Expr& a) -> Expr {
    switch (random.in(0, 3)) {
      case 0: return a * 2.0 + 1.0;
      case 1: return transcendental ? te::exp(a) : te::min(a, 3.0);
      case 2: return te::max(a, 0.0);
      default: return a * a;
    }
  };
  const int64_t stages = random.in(1, 4);
  for (int64_t i = 0; i < stages; ++i) {
    const std::string name = "S" + std::to_string(i);
    const Tensor t = random.chance(50) ? all.back() : random.pick(all);  // chains, and branches
    const Tensor u = random.pick(all);
    const int64_t h = extent(t, 0), w = extent(t, 1);
    const int64_t uh = extent(u, 0), uw = extent(u, 1);
    switch (random.in(0, 7)) {
      case 0:  // pointwise
        all.push_back(
            te::compute(name, {h, w}, [&](te::Var y, te::Var x) { return pointwise(t(y, x)); }));
        break;
      case 1:
      case 2: {  // a stencil along one dimension
        const int64_t taps = std::min<int64_t>(3, h);
        all.push_back(te::compute(name, {h - taps + 1, w}, [&](te::Var y, te::Var x) {
          Expr sum = t(y, x);
          for (int64_t k = 1; k < taps; ++k)
            sum = sum + t(y + k, x) * (1.0 + static_cast<double>(k));
          return sum;
        }));
        break;
      }
      case 3:  // transposed, with a padded border
        all.push_back(te::compute(name, {w + 1, h}, [&](te::Var y, te::Var x) {
          return te::guard(y < w, t(x, y), 0.5);
        }));
        break;
      case 4: {  // two tensors, the second repeated where it is smaller
        all.push_back(te::compute(
            name, {h, w}, [&](te::Var y, te::Var x) { return t(y, x) + u(y % uh, x % uw); }));
        break;
      }
      case 5: {  // a row reduction, repeated over the row
        const te::Axis k = te::reduce_axis(w, "k");
        const bool maximum = random.chance(40);
        all.push_back(te::compute(name, {h, 1}, [&](te::Var y, te::Var) {
          return maximum ? te::max_over(t(y, k), k) : te::sum(t(y, k), k);
        }));
        break;
      }
      case 6: {  // a product over the common part of the inner dimension
        const te::Axis k = te::reduce_axis(std::min(w, uh), "k");
        all.push_back(te::compute(
            name, {h, uw}, [&](te::Var y, te::Var x) { return te::sum(t(y, k) * u(k, x), k); }));
        break;
      }
      default: {  // a window sum over two axes
        const int64_t r = std::min<int64_t>(2, h), s = std::min<int64_t>(3, w);
        const te::Axis p = te::reduce_axis(r, "p"), q = te::reduce_axis(s, "q");
        all.push_back(te::compute(name, {(h - r) / 2 + 1, w - s + 1}, [&](te::Var y, te::Var x) {
          return te::sum(t(y * 2 + p, x + q) * (1.0 / 4.0), {p, q});
        }));
      }
    }
  }
  std::vector<Tensor> outputs = {all.back()};
  if (random.chance(30) && all.size() > inputs.size() + 1) outputs.push_back(all[inputs.size()]);
  return te::program("random", inputs, outputs);
}

/// A layout for a buffer of that shape: rows with a gap, pairs of rows interleaved, or a swizzle.
inline ir::Layout random_layout(Random& random, const std::vector<ir::Expr>& shape) {
  auto out = std::make_shared<ir::LayoutNode>();
  std::vector<int64_t> extents;
  for (const ir::Expr& e : shape) {
    out->indices.emplace_back("i" + std::to_string(extents.size()));
    extents.push_back(*ir::const_int(e));
  }
  const auto address = [&](const ir::Expr& index, int64_t extent) {
    out->dims.push_back({ir::PhysKind::Address, index, extent});
  };
  const size_t last = extents.size() - 1;
  for (size_t d = 0; d < extents.size(); ++d) {
    const ir::Expr i = out->indices[d];
    const ir::Expr before = d > 0 ? ir::Expr(out->indices[d - 1]) : ir::Expr(0);
    switch (random.in(0, 2)) {
      case 0: address(i, extents[d] + (d == last ? random.in(0, 3) : 0)); break;
      case 1:
        address(i / 2, (extents[d] + 1) / 2);
        address(i % 2, 2);
        break;
      default: address(ir::binary(ir::BinaryOp::BitXor, i, before % 4), (extents[d] + 3) / 4 * 4);
    }
  }
  return ir::Layout(std::shared_ptr<const ir::LayoutNode>(std::move(out)));
}

/// Small instructions that parts of random programs may be: products, dots, copies. Half of them
/// stay calls when they are lowered, as if the target had them.
inline const std::vector<ir::Instruction>& random_instructions() {
  static const std::vector<ir::Instruction> all = [] {
    std::string text;
    const auto str_of = [](int64_t n) { return std::to_string(n); };
    for (int64_t i = 1; i <= 3; ++i)
      for (int64_t j = 1; j <= 3; ++j) {
        const std::string size = str_of(i) + "_" + str_of(j), rows = str_of(i), columns = str_of(j);
        const std::string emit = (i + j) % 2 == 0 ? " emit \"kept\"" : "";
        const std::string both = "for i in 0.." + rows + " { for j in 0.." + columns + " { ";
        const std::string c = "(c: inout f32[" + rows + ", " + columns + "], a: in f32[";
        text += "instr outer_" + size + c + rows + "], b: in f32[" + columns + "])" + emit +
                " { compute { " + both + "c[i, j] = a[i] * b[j] } } } reset { " + both +
                "c[i, j] = 0.0 } } } update { " + both + "c[i, j] sum= b[j] * a[i] } } } }\n";
        text += "instr gemm_" + size + c + rows + ", 2], b: in f32[2, " + columns + "])" + emit +
                " { compute { " + both + "c[i, j] = 0.0 } } " + both +
                "for k in 0..2 { c[i, j] sum= a[i, k] * b[k, j] } } } } reset { " + both +
                "c[i, j] = 0.0 } } } update { for k in 0..2 { " + both +
                "c[i, j] sum= a[i, k] * b[k, j] } } } } }\n";
        text += "instr relu_" + size + "(c: out f32[" + rows + ", " + columns + "], a: in f32[" +
                rows + ", " + columns + "])" + emit + " { compute { " + both +
                "c[i, j] = max(a[i, j], 0.0) } } } }\n";
        text += "instr copy_" + size + "(c: out f32[" + rows + ", " + columns + "], a: in f32[" +
                rows + ", " + columns + "])" + emit + " { compute { " + both +
                "c[i, j] = a[i, j] } } } }\n";
      }
    return ir::parse(text).instructions;
  }();
  return all;
}

/// A producer in the outermost loop of its consumer, whose statements then run for different
/// iterations: delays mostly grow, and the order is mostly that of the program. Then the two loops
/// may be merged.
inline void random_stagger(Schedule& s, Random& random, const std::string& producer,
                           const std::string& consumer) {
  const std::vector<LoopRef> loops = s.loops(consumer);
  if (loops.empty()) return;
  if (random.chance(80)) s.compute_at(s.block(producer), loops[0]);
  const Program program(s.func());
  const ir::For& outer = *program.loops_around(*program.find_block(consumer))[0];
  std::vector<Number> delays, order;
  int64_t delay = 0;
  for (int64_t k = 0; k < std::ssize(open_body(outer.body).stmts); ++k) {
    delays.push_back(random.chance(15) ? random.in(0, 3) : delay);
    delay += random.in(0, 2);
    order.insert(order.begin() + (random.chance(50) ? k : random.in(0, k)), k);
  }
  s.stagger(loops[0], delays, order);
  const std::vector<LoopRef> made = s.loops(producer), used = s.loops(consumer);
  if (made.size() < 2 || used.size() < 2) return;
  if (random.chance(50))
    s.merge(used[1], made[1]);
  else
    s.merge(made[1], used[1]);
}

/// Tries `count` random steps; gives how many were accepted. Without `hardware` no loop is bound to
/// blocks or threads, which a CPU has not.
inline int random_steps(Schedule& s, Random& random, int count, bool hardware = true) {
  int accepted = 0;
  for (int i = 0; i < count; ++i) {
    std::vector<std::string> blocks;
    std::vector<ir::Buffer> touched;
    const ir::LoopFunc func = s.func();
    const Program program(func);
    ir::walk(func.body, [&](const ir::Block& b) {
      blocks.push_back(b.name);
      for (const auto* regions : {&b.reads, &b.writes})
        for (const ir::Region& r : *regions) touched.push_back(r.buffer);
    });
    if (blocks.empty()) return accepted;
    const ir::Block& chosen = *program.find_block(random.pick(blocks));
    const BlockRef block = s.block(chosen.name);
    const std::vector<const ir::For*> around = program.loops_around(chosen);
    const std::vector<LoopRef> own = s.loops(block);
    // Loops of another block, more often than not of one that reads what this one writes.
    std::vector<std::pair<std::string, std::string>> pairs;
    std::vector<std::string> consumers;
    ir::walk(func.body, [&](const ir::Block& p) {
      ir::walk(func.body, [&](const ir::Block& c) {
        for (const ir::Region& r : c.reads) {
          if (&p == &c || r.buffer != p.writes[0].buffer) continue;
          pairs.push_back({p.name, c.name});
          if (&p == &chosen) consumers.push_back(c.name);
        }
      });
    });
    const bool follow = !consumers.empty() && random.chance(70);
    const std::vector<LoopRef> other = s.loops(random.pick(follow ? consumers : blocks));
    if (own.empty()) continue;
    const size_t place = static_cast<size_t>(random.in(0, static_cast<int64_t>(own.size()) - 1));
    const LoopRef loop = own[place];
    std::vector<ir::Buffer> mine;
    for (const auto* regions : {&chosen.reads, &chosen.writes})
      for (const ir::Region& r : *regions) mine.push_back(r.buffer);
    const ir::Buffer buffer = random.pick(random.chance(60) ? mine : touched);
    const auto number = [&] { return Number(random.in(1, 5)); };
    const auto scope = [&] {
      return random.pick(std::vector<ir::ScopeKind>{ir::ScopeKind::Global, ir::ScopeKind::Shared,
                                                    ir::ScopeKind::Register});
    };
    try {
      switch (random.in(0, 41)) {
        case 0:
        case 1: s.split(loop, {kOpen, number()}); break;
        case 2: s.split(loop, {number(), kOpen, number()}); break;
        case 3:
          if (place + 1 < own.size()) s.fuse({loop, own[place + 1]});
          break;
        case 4:
        case 5: {
          std::vector<LoopRef> order = own;
          for (size_t k = order.size(); k > 1; --k)
            std::swap(order[k - 1],
                      order[static_cast<size_t>(random.in(0, static_cast<int64_t>(k) - 1))]);
          order.resize(static_cast<size_t>(random.in(1, static_cast<int64_t>(order.size()))));
          s.reorder(order);
          break;
        }
        case 6: s.vectorize(loop); break;
        case 7: s.unroll(loop); break;
        case 8: s.parallel(loop); break;
        case 9:
          if (!other.empty()) s.compute_at(block, random.pick(other));
          break;
        case 10:
          if (!pairs.empty()) {
            const auto [producer, consumer] = random.pick(pairs);
            const std::vector<LoopRef> loops = s.loops(producer);
            if (!loops.empty()) s.reverse_compute_at(s.block(consumer), random.pick(loops));
          }
          break;
        case 11: s.compute_inline(block); break;
        case 12: s.reverse_compute_inline(block); break;
        case 13: s.cache_read(block, buffer->name, scope()); break;
        case 14: s.cache_write(block, buffer->name, scope()); break;
        case 15: s.decompose_reduction(block, loop); break;
        case 16: s.rfactor(block, loop); break;
        case 17: s.partition(loop, {number()}); break;
        case 18:
        case 19:
        case 20:
        case 21: {  // a producer at its consumer, and what follows
          if (pairs.empty()) break;
          const auto [producer, consumer] = random.pick(pairs);
          const BlockRef p = s.block(producer);
          const std::vector<LoopRef> loops = s.loops(consumer);
          if (loops.empty()) break;
          const LoopRef at = random.chance(60) ? loops[0] : random.pick(loops);
          if (random.chance(80)) s.compute_at(p, at);
          const int64_t then = random.in(0, 3);
          if (then == 0) s.compute_root(p);
          const std::vector<LoopRef> around_it = s.loops(p);
          if (then == 1 && !around_it.empty()) s.store_at(p, random.pick(around_it));
          if (then >= 2) s.rolling_buffer(p, at);
          break;
        }
        case 22: s.set_layout(block, buffer->name, random_layout(random, buffer->shape)); break;
        case 23: s.reindex(block, buffer->name); break;
        case 24: {
          std::vector<Number> multiples;
          for (size_t k = 0; k < chosen.iters.size(); ++k)
            multiples.push_back(random.chance(50) ? Number(1) : number());
          s.pad(block, multiples);
          break;
        }
        case 25: s.annotate(random.chance(50) ? AnyRef(loop) : AnyRef(block), "note", 7); break;
        case 26: {
          if (place == 0) break;
          const std::string var = around[place - 1]->var.name();
          const std::string condition =
              random.chance(50) ? var + " < " + std::to_string(random.in(0, 4)) : var + " % 2 == 0";
          if (random.chance(50))
            s.specialize(loop, condition);
          else
            s.specialize(block, condition);
          break;
        }
        case 27:
          if (place + 1 < own.size()) s.swizzle_order(loop, own[place + 1], number());
          break;
        case 28:
          if (random.chance(50))
            s.prefetch(loop, random.pick(own), buffer->name, number(), 1);
          else
            s.prefetch_next(loop, random.pick(own), buffer->name, 2);
          break;
        case 29:
        case 30:
        case 31: {  // what the block reads is copied in one of its loops
          const std::string read = buffer->name;
          const ir::ScopeKind kind = scope();
          const BlockRef copy = s.cache_read(block, read, kind);
          const LoopRef at = random.pick(s.loops(block));
          s.compute_at(copy, at);
          if (random.chance(30))
            s.double_buffer(at, read + "_" + ir::print(ir::Scope{kind, {}}));
          else
            s.pipeline(at, number());
          break;
        }
        case 32: s.persistent(loop, number()); break;
        case 33: s.blockize(loop); break;
        case 34: s.tensorize(block, random.pick(random_instructions())->name); break;
        case 35:
          for (const ir::Instruction& instruction : random_instructions()) {
            try {
              s.tensorize(loop, instruction->name);
              break;
            } catch (const Error& e) {
              if (e.diagnostic.code != "schedule.tensorize.match") throw;
            }
          }
          break;
        case 36:
        case 37:
        case 38:
          if (!pairs.empty()) {
            const auto [producer, consumer] = random.pick(pairs);
            random_stagger(s, random, producer, consumer);
          }
          break;
        case 39:
        case 40:
          if (!hardware) break;
          s.bind(loop, random.pick(std::vector<ir::ThreadAxis>{
                           ir::ThreadAxis::BlockX, ir::ThreadAxis::BlockY, ir::ThreadAxis::ThreadX,
                           ir::ThreadAxis::ThreadY}));
          break;
        default: {
          const ir::Var a("a"), b("b");
          const int64_t f = random.in(1, 4);
          s.transform_layout(block, buffer->name, {{a, b}, {b / f, a, b % f}});
        }
      }
      ++accepted;
    } catch (const Error&) {
      // A refusal is an answer.
    }
  }
  return accepted;
}

struct CaseResult {
  int accepted = 0;
  bool lowered = false;  // the CPU pipeline took the scheduled program
  std::string failure;   // empty when all is right
};

inline std::vector<ir::Array> exact_args(const ir::LoopFunc& f, uint64_t seed) {
  std::vector<ir::Array> args;
  for (const ir::Param& p : f.params) {
    std::vector<int64_t> shape;
    for (const ir::Expr& e : p.buffer->shape) shape.push_back(*ir::const_int(e));
    args.push_back(
        ir::random_array(p.buffer->elem, shape, seed + args.size(), ir::Arithmetic::Exact));
  }
  return args;
}

/// One program, one schedule: the scheduled and the lowered program give what the plain loops give.
inline CaseResult check_random_case(uint64_t seed, bool lower) {
  Random random(seed);
  CaseResult out;
  const ir::LoopFunc before = lower::to_blocks(random_program(random));
  Schedule s(before, random_instructions());
  // Some schedules repeat a producer so often that running them teaches nothing more.
  const ir::RunOptions options{.arithmetic = ir::Arithmetic::Exact, .max_steps = 20'000'000};
  std::vector<ir::Array> expected = exact_args(before, seed);
  std::vector<ir::Array> got = expected, lowered = expected;
  const auto fail = [&](const std::string& what) {
    out.failure = "seed " + std::to_string(seed) + ": " + what + "\n" + ir::print(before) +
                  print(s.trace()) + ir::print(s.func());
  };
  try {
    out.accepted = random_steps(s, random, static_cast<int>(random.in(1, 12)));
    ir::verify(s.func());
    ir::interpret(before, expected, {}, options);
    ir::interpret(s.func(), got, {}, options);
    for (size_t i = 0; i < got.size(); ++i)
      if (!ir::same_bits(expected[i], got[i])) {
        fail("the scheduled program differs in " + before.params[i].buffer->name);
        return out;
      }
    if (lower) {
      lower::PassContext context;
      context.limits.instructions = {"kept"};
      ir::LoopFunc final;
      try {
        final = lower::run(lower::cpu_pipeline(), s.func(), context);
      } catch (const Error& e) {
        // Lowering may refuse what a CPU cannot do, with a reason.
        if (e.diagnostic.code.starts_with("lower.")) return out;
        throw;
      }
      out.lowered = true;
      for (ir::Array& a : lowered) a.shape = {a.size()};  // flattened, as the kernels see it
      ir::interpret(final, lowered, {}, options);
      for (size_t i = 0; i < got.size(); ++i)
        if (expected[i].cells != lowered[i].cells) {
          fail("the lowered program differs in " + before.params[i].buffer->name + "\n" +
               ir::print(final));
          return out;
        }
    }
  } catch (const Error& e) {
    if (e.diagnostic.code != "ir.run.limit") fail(e.what());
  } catch (const std::exception& e) {
    fail(e.what());
  }
  return out;
}

}  // namespace tilewright::schedule
