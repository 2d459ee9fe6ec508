// SPDX-License-Identifier: Apache-2.0
#include "lower/access.h"

#include <algorithm>
#include <numeric>

#include "arith/affine.h"
#include "ir/build.h"
#include "ir/scalar.h"

namespace tilewright::lower {

using namespace ir;

namespace {

class Collector {
 public:
  std::vector<Access> found;

  void stmt(const Stmt& s) {
    visit(s, [&](const auto& node) { enter(node); });
  }

 private:
  template <class T>
  void enter(const T& node) {
    const Stmt s = Stmt::of(node);
    // Loads in the statement's own expressions come first.
    for_each_child(s, [&](const Expr& e) { expr(e, s.get()); }, [](const Stmt&) {});
    own(node);
    inside(node);
  }

  void own(const StmtNode&) {}
  void own(const Store& s) { add(s.buffer, s.indices, false, true, &s); }
  void own(const Update& u) {
    for (const Target& t : u.targets) add(t.buffer, t.indices, true, true, &u, u.reducer);
  }
  void own(const Atomic& a) {
    add(a.buffer, a.indices, true, true, &a);
    found.back().atomic = true;
    if (a.old) add(a.old, {}, false, true, &a);
  }
  void own(const InstrCall& c) {
    for (size_t i = 0; i < c.operands.size(); ++i) {
      // An update adds to its result, so it reads it as well.
      const ir::Access access = c.instr->operands[i].access;
      const bool writes = access != ir::Access::In;
      const bool reads = access != ir::Access::Out || c.form == InstrForm::Update;
      push({c.operands[i].buffer, c.operands[i].ranges, reads, writes, false, {}, &c, around_});
    }
  }

  void inside(const StmtNode& node) { children(node); }
  void inside(const For& loop) {
    within({loop.var, loop.min, loop.extent, {}}, [&] { stmt(loop.body); });
  }
  void inside(const Let& let) {
    within({let.var, {}, {}, let.value}, [&] { stmt(let.body); });
  }
  void inside(const If& s) {
    within({{}, {}, {}, s.cond}, [&] { stmt(s.yes); });
    if (s.no) within({{}, {}, {}, logical_not(s.cond)}, [&] { stmt(s.no); });
  }
  void inside(const Agents& agents) {
    for (const Agent& a : agents.agents) {
      const auto body = [&] { within({a.thread, 0, a.threads, {}}, [&] { stmt(a.body); }); };
      if (a.index)
        within({a.index, 0, a.count, {}}, body);
      else
        body();
    }
  }
  void children(const StmtNode& node) {
    for_each_child(Stmt::of(node), [](const Expr&) {}, [&](const Stmt& c) { stmt(c); });
  }

  void expr(const Expr& e, const StmtNode* at) {
    if (const Guard* g = e.as<Guard>()) {
      expr(g->cond, at);
      within({{}, {}, {}, g->cond}, [&] { expr(g->yes, at); });
      within({{}, {}, {}, logical_not(g->cond)}, [&] { expr(g->no, at); });
      return;
    }
    for_each_child(e, [&](const Expr& c) { expr(c, at); });
    if (const Load* l = e.as<Load>()) add(l->buffer, l->indices, true, false, at);
  }

  void add(const Buffer& b, const std::vector<Expr>& indices, bool reads, bool writes,
           const StmtNode* at, const Reducer& reducer = {}) {
    std::vector<Range> box;
    for (const Expr& index : indices) box.push_back(index_range(index));
    push({b, std::move(box), reads, writes, false, reducer, at, around_});
  }
  void push(Access a) { found.push_back(std::move(a)); }

  /// A vector index as the scalars it runs over, where that is simple; else any.
  static Range index_range(const Expr& index) {
    if (!index.type().is_vector()) return {index, 1};
    if (const Broadcast* b = index.as<Broadcast>()) return {b->value, 1};
    if (const Ramp* r = index.as<Ramp>())
      if (const auto stride = const_int(r->stride); stride && *stride > 0)
        return {r->base, Expr(*stride * (r->lanes - 1) + 1)};
    return {Expr(), Expr()};
  }

  template <class F>
  void within(Around around, F&& f) {
    around_.push_back(std::move(around));
    f();
    around_.pop_back();
  }

  std::vector<Around> around_;
};

/// Is there a multiple of g in the interval? g == 0 has only 0.
bool holds_multiple(const arith::Interval& i, int64_t g) {
  if (g == 0) return i.contains(0);
  if (!i.bounded()) return true;
  const int64_t below = int_binary(BinaryOp::Div, Elem::I64, i.hi, g) * g;
  return below >= i.lo;
}

/// Is D + t == 0 impossible for every t in [from, to]? The terms with large coefficients give a
/// multiple of their gcd, the others an interval that must hold no such multiple.
///   32*(i - j) + d, 1 <= d <= 31:  no multiple of 32 in [1, 31]
bool never_zero(const arith::Affine& d, int64_t from, int64_t to, const arith::Context& c) {
  using arith::Interval;
  std::vector<arith::Affine::Term> terms = d.terms;
  std::ranges::sort(terms, {}, [](const auto& t) { return std::abs(t.coefficient); });
  Interval rest = apply(BinaryOp::Add, Interval::point(d.constant), Interval{from, to});
  for (size_t small = 0;; ++small) {
    int64_t g = 0;
    for (size_t i = small; i < terms.size(); ++i) g = std::gcd(g, terms[i].coefficient);
    if (!holds_multiple(rest, g)) return true;
    if (small == terms.size()) return false;
    rest = apply(BinaryOp::Add, rest,
                 apply(BinaryOp::Mul, Interval::point(terms[small].coefficient),
                       c.bounds(terms[small].expr)));
  }
}

bool ranges_disjoint(const Range& a, const Range& b, const arith::Context& c) {
  if (!a.min || !b.min) return false;  // a vector index of no simple form
  const auto ea = const_int(a.extent), eb = const_int(b.extent);
  if (ea && eb) {
    if (*ea <= 0 || *eb <= 0) return true;
    const auto d = arith::affine_of(c.simplify(b.min - a.min));
    if (d && never_zero(*d, -(*ea - 1), *eb - 1, c)) return true;
  }
  return c.can_prove(a.min + a.extent <= b.min) || c.can_prove(b.min + b.extent <= a.min);
}

template <class Self>
std::vector<Expr> plain(const std::vector<Expr>& exprs, Self& self) {
  std::vector<Expr> out;
  for (const Expr& e : exprs) out.push_back(self(e));
  return out;
}

template <class Self>
Region redirect_region(const Region& r, const Buffer& from, const Buffer& to,
                       FunctionRef<std::vector<Expr>(const std::vector<Expr>&)> at, Self& self) {
  std::vector<Expr> mins;
  for (const Range& range : r.ranges) mins.push_back(self(range.min));
  if (r.buffer == from) mins = at(mins);
  Region out{r.buffer == from ? to : r.buffer, {}, self(r.rank)};
  const size_t added = mins.size() - r.ranges.size();
  for (size_t d = 0; d < mins.size(); ++d)
    out.ranges.push_back({mins[d], d < added ? Expr(1) : self(r.ranges[d - added].extent)});
  return out;
}

}  // namespace

std::vector<Access> accesses_of(const Stmt& root) {
  Collector c;
  c.stmt(root);
  return std::move(c.found);
}

Stmt redirect(const Stmt& s, const Buffer& from, const Buffer& to,
              FunctionRef<std::vector<Expr>(const std::vector<Expr>&)> at) {
  const auto all = [&](const std::vector<Expr>& indices, auto& self) {
    std::vector<Expr> out;
    for (const Expr& index : indices) out.push_back(self(index));
    return at(out);
  };
  return rewrite(
      s,
      [&](const Load& l, auto& self) -> Expr {
        if (l.buffer != from) return self.children(l);
        return make<Load>(l.span, to, all(l.indices, self), self(l.mask), self(l.rank));
      },
      [&](const Store& st, auto& self) -> Stmt {
        if (st.buffer != from) return self.children(st);
        return make_stmt<Store>(st.span, to, all(st.indices, self), self(st.value), self(st.mask),
                                self(st.rank));
      },
      [&](const Update& u, auto& self) -> Stmt {
        Update out = u;
        for (Target& t : out.targets) {
          t.indices = t.buffer == from ? all(t.indices, self) : plain(t.indices, self);
          if (t.buffer == from) t.buffer = to;
        }
        out.values = plain(u.values, self);
        return make_stmt<Update>(u.span, u.reducer, out.targets, out.values);
      },
      [&](const Atomic& a, auto& self) -> Stmt {
        if (a.buffer != from && a.old != from) return self.children(a);
        return with(a, [&](Atomic& out) {
          out.indices = a.buffer == from ? all(a.indices, self) : plain(a.indices, self);
          if (a.buffer == from) out.buffer = to;
          if (a.old == from) out.old = to;
          out.value = self(a.value);
          out.expected = self(a.expected);
        });
      },
      [&](const Prefetch& p, auto& self) -> Stmt {
        if (p.buffer != from) return self.children(p);
        return with(p, [&](Prefetch& out) {
          out.indices = all(p.indices, self);
          out.buffer = to;
        });
      },
      [&](const InstrCall& c, auto& self) -> Stmt {
        return with(c, [&](InstrCall& out) {
          for (Region& r : out.operands) r = redirect_region(r, from, to, at, self);
        });
      });
}

bool mentions(const Stmt& s, const Buffer& buffer) {
  bool found = false;
  const auto see = [&](const Buffer& b) { found = found || b == buffer; };
  walk(
      s, [&](const Load& l) { see(l.buffer); }, [&](const Store& st) { see(st.buffer); },
      [&](const Update& u) {
        for (const Target& t : u.targets) see(t.buffer);
      },
      [&](const Atomic& a) {
        see(a.buffer);
        see(a.old);
      },
      [&](const Prefetch& p) { see(p.buffer); },
      [&](const InstrCall& c) {
        for (const Region& r : c.operands) see(r.buffer);
      });
  return found;
}

bool mentions(const Expr& e, const Buffer& buffer) {
  bool found = false;
  walk(e, [&](const Load& l) { found = found || l.buffer == buffer; });
  return found;
}

std::unordered_set<Buffer> allocated_in(const Stmt& root) {
  std::unordered_set<Buffer> out;
  walk(root, [&](const Alloc& a) { out.insert(a.buffer); });
  return out;
}

void enter(const std::vector<Around>& around, arith::Context& context) {
  for (const Around& a : around) {
    if (!a.var)
      context.assume(a.value);
    else if (!a.value)
      context.bind(a.var, a.min, a.extent);
    else if (a.value.type() == kIndex)
      context.define(a.var, a.value);
  }
}

Expr Renamer::operator()(const Expr& e) const {
  return rewrite(
      e,
      [&](const VarNode& v, auto&) -> Expr {
        const auto found = names_.find(Var::of(v));
        return found == names_.end() ? Expr::of(v) : found->second;
      },
      [&](const Load& l, auto& self) -> Expr {
        if (!written_.contains(l.buffer)) return self.children(l);
        return Var("loaded", l.type);
      });
}

std::vector<Range> Renamer::operator()(const std::vector<Range>& box) const {
  std::vector<Range> out;
  for (const Range& r : box) out.push_back({(*this)(r.min), (*this)(r.extent)});
  return out;
}

void Renamer::enter(const std::vector<Around>& around, arith::Context& c) {
  for (const Around& a : around) {
    if (!a.var) {
      c.assume((*this)(a.value));
    } else if (a.value) {
      names_[a.var] = (*this)(a.value);
    } else {
      const Var fresh(a.var.name());
      c.bind(fresh, (*this)(a.min), (*this)(a.extent));
      names_[a.var] = fresh;
    }
  }
}

bool boxes_disjoint(const std::vector<Range>& a, const std::vector<Range>& b,
                    const std::vector<Expr>& shape, const arith::Context& context) {
  for (size_t d = 0; d < a.size(); ++d)
    if (ranges_disjoint(a[d], b[d], context)) return true;
  // Elements at i / 4, i % 4 differ in no single dimension for certain, but in row-major order.
  const auto row_major = [&](const std::vector<Range>& box) {
    Expr place = 0;
    for (size_t d = 0; d < box.size(); ++d) {
      if (!box[d].min || !is_const(box[d].extent, 1)) return Expr();
      place = place * shape[d] + box[d].min;
    }
    return place;
  };
  const Expr x = row_major(a), y = row_major(b);
  return x && y && ranges_disjoint({context.simplify(x), 1}, {context.simplify(y), 1}, context);
}

AcrossIterations::AcrossIterations(const For& loop, const std::vector<Access>& body,
                                   const arith::Context& outside)
    : loop_(loop), outside_(outside) {
  for (const Access& a : body)
    if (a.writes) written_.insert(a.buffer);
}

bool AcrossIterations::disjoint(const Access& a, const Access& b) const {
  return disjoint_later(a, b) && disjoint_later(b, a);
}

bool AcrossIterations::disjoint_later(const Access& a, const Access& b) const {
  if (a.buffer != b.buffer) return true;
  const Var earlier(loop_.var.name()), step("step");
  arith::Context c(outside_);
  c.bind(earlier, loop_.min, loop_.extent);
  c.bind(step, Expr(1), loop_.extent - 1);
  c.assume(earlier + step < loop_.min + loop_.extent);

  Renamer first({{loop_.var, earlier}}, written_), second({{loop_.var, earlier + step}}, written_);
  first.enter(a.around, c);
  second.enter(b.around, c);
  return boxes_disjoint(first(a.box), second(b.box), a.buffer->shape, c);
}

}  // namespace tilewright::lower
