// SPDX-License-Identifier: Apache-2.0
// Every variable, buffer and channel is used in its scope, and never bound inside of it.
#include <type_traits>
#include <unordered_set>

#include "ir/rewrite.h"
#include "ir/verify_rules.h"
#include "support/str.h"

namespace tilewright::ir::detail {
namespace {

class Scopes {
 public:
  void bind(const Var& var, const Span& at) { bind(vars_, var, var.name(), "variable", at); }
  void bind(const Buffer& b, const Span& at) { bind(buffers_, b, b->name, "buffer", at); }
  void bind(const Channel& c, const Span& at) { bind(channels_, c, c->name, "channel", at); }
  void unbind(const Var& var) { vars_.erase(var); }

  void stmt(const Stmt& s) {
    const Span* const outer = at_;
    at_ = &place(s->span, *outer);
    visit(s, [&](const auto& node) { enter(node); });
    at_ = outer;
  }

  void use(const Expr& e) {
    if (!e) return;
    walk(
        e,
        [&](const VarNode& v) {
          if (!vars_.contains(Var::of(v)))
            fail("ir.verify.unbound", *at_,
                 str("variable ", quoted(v.name), " is used outside of its scope"), {},
                 "use it inside the loop, let, block or function that binds it");
        },
        [&](const Load& load) { use(load.buffer); });
  }

  /// The buffer's own expressions: its shape, and its layout over the layout's variables.
  void definition(const Buffer& b, const Span& at) {
    for (const Expr& extent : b->shape) use(extent);
    if (!b->layout) return;
    for (const PhysDim& dim : b->layout->dims) use(dim.extent);
    for (const Var& v : b->layout->indices) bind(v, at);
    if (b->layout->replica) bind(b->layout->replica, at);
    for (const PhysDim& dim : b->layout->dims) use(dim.index);
    for (const Var& v : b->layout->indices) unbind(v);
    if (b->layout->replica) unbind(b->layout->replica);
  }

 private:
  template <class Set, class Thing>
  void bind(Set& set, const Thing& thing, const std::string& name, std::string_view kind,
            const Span& at) {
    if (!set.insert(thing).second)
      fail("ir.verify.rebound", at, str(kind, " ", quoted(name), " is bound inside its own scope"),
           {}, str("bind a ", kind, " of its own there"));
  }

  void use(const Buffer& b) {
    if (b && !buffers_.contains(b))
      fail("ir.verify.unbound", *at_,
           str("buffer ", quoted(b->name), " is used outside of its scope"), {},
           "allocate it around this place, or make it a parameter");
  }
  void use(const Channel& c) {
    if (c && !channels_.contains(c))
      fail("ir.verify.unbound", *at_,
           str("channel ", quoted(c->name), " is used outside of its scope"), {},
           "declare it around this place");
  }

  /// Uses whatever a field mentions. Variables in binding positions are handled by `enter`.
  template <class F>
  void field(const F& f) {
    if constexpr (std::is_same_v<F, Expr> || std::is_same_v<F, Buffer> ||
                  std::is_same_v<F, Channel>) {
      use(f);
    } else if constexpr (std::is_same_v<F, Stmt>) {
      if (f) stmt(f);
    } else if constexpr (requires { f.begin(); } && !std::is_same_v<F, std::string>) {
      for (const auto& item : f) field(item);
    } else if constexpr (HasFields<F>) {
      for_each_field(f, [&](const auto& part) { field(part); });
    }
  }

  template <class T>
  void enter(const T& node) {
    for_each_field(node, [&](const auto& f) { field(f); });
  }
  void enter(const Let& let) {
    use(let.value);
    bind(let.var, *at_);
    stmt(let.body);
    unbind(let.var);
  }
  void enter(const For& loop) {
    use(loop.min);
    use(loop.extent);
    bind(loop.var, *at_);
    stmt(loop.body);
    unbind(loop.var);
  }
  void enter(const Alloc& alloc) {
    definition(alloc.buffer, *at_);
    bind(alloc.buffer, *at_);
    stmt(alloc.body);
    buffers_.erase(alloc.buffer);
  }
  void enter(const ChannelScope& scope) {
    bind(scope.channel, *at_);
    stmt(scope.body);
    channels_.erase(scope.channel);
  }
  void enter(const Agents& agents) {
    for (const Agent& a : agents.agents) {
      if (a.index) bind(a.index, *at_);
      bind(a.thread, *at_);
      stmt(a.body);
      unbind(a.thread);
      if (a.index) unbind(a.index);
    }
  }
  void enter(const Block& block) {
    const Span at = *at_;
    for (const BlockIter& it : block.iters) {
      for (const BlockIter& own : block.iters) {
        const bool in_binding = uses(it.binding, own.var), in_extent = uses(it.extent, own.var);
        if ((in_binding || in_extent) && !vars_.contains(own.var))
          fail("ir.verify.block_binding", at,
               str("the ", in_binding ? "binding" : "extent", " of iterator ",
                   quoted(it.var.name()), " of block ", quoted(block.name),
                   " mentions the block's own iterator ", quoted(own.var.name())),
               {}, "bind iterators to the loops around the block");
      }
      use(it.extent);
      use(it.binding);
    }
    for (const BlockIter& it : block.iters) bind(it.var, at);
    use(block.predicate);
    field(block.reads);
    field(block.writes);
    if (block.init) stmt(block.init);
    stmt(block.body);
    for (const BlockIter& it : block.iters) unbind(it.var);
  }

  std::unordered_set<Var> vars_;
  std::unordered_set<Buffer> buffers_;
  std::unordered_set<Channel> channels_;
  Span start_;
  const Span* at_ = &start_;  // the innermost statement with a place
};

}  // namespace

void verify_scopes(const LoopFunc& func) {
  Scopes scopes;
  for (const Symbol& s : func.symbols) scopes.bind(s.var, func.span);
  for (const Param& p : func.params) {
    scopes.definition(p.buffer, place(p.buffer->span, func.span));
    scopes.bind(p.buffer, place(p.buffer->span, func.span));
  }
  scopes.stmt(func.body);
}

}  // namespace tilewright::ir::detail
