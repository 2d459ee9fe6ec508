// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "arith/context.h"
#include "ir/build.h"

namespace tilewright::lower {

/// What is known at the place that a rewrite has reached; grows with each scope it enters.
///   facts.inside(loop, [&] { return self.children(loop); })
class Facts {
 public:
  explicit Facts(const ir::LoopFunc& func) : here_(std::make_unique<arith::Context>(func)) {}
  explicit Facts(const arith::Context& outer) : here_(std::make_unique<arith::Context>(outer)) {}

  const arith::Context& here() const { return *here_; }

  template <class F>
  auto inside(const ir::For& loop, F&& f) {
    return scoped([&](arith::Context& c) { c.bind(loop.var, loop.min, loop.extent); }, f);
  }
  template <class F>
  auto inside(const ir::Let& let, F&& f) {
    return scoped(
        [&](arith::Context& c) {
          if (let.value.type() == ir::kIndex) c.define(let.var, let.value);
        },
        f);
  }
  template <class F>
  auto where(const ir::Expr& condition, F&& f) {
    return scoped([&](arith::Context& c) { c.assume(condition); }, f);
  }

 private:
  template <class Add, class F>
  auto scoped(Add&& add, F&& f) {
    auto inner = std::make_unique<arith::Context>(*here_);
    add(*inner);
    const Restore restore{*this, std::exchange(here_, std::move(inner))};
    return f();
  }
  struct Restore {
    Facts& facts;
    mutable std::unique_ptr<arith::Context> outer;
    ~Restore() { facts.here_ = std::move(outer); }
  };

  std::unique_ptr<arith::Context> here_;
};

}  // namespace tilewright::lower
