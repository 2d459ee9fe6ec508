// SPDX-License-Identifier: Apache-2.0
// Every expression of the loop IR: a node is its fields, its meaning, one check.
// ir/README.md §3 states overflow, division, NaN, lanes and evaluation order.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/node.h"
#include "ir/ops.h"
#include "ir/type.h"

namespace tilewright::ir {

// clang-format off
#define TW_EXPR_KINDS(X)                                                                          \
  X(IntImm) X(FloatImm) X(VarNode) X(Unary) X(Binary) X(Call) X(Cast) X(Reinterpret) X(Select)    \
  X(Guard) X(Load) X(Ramp) X(Broadcast) X(VectorReduce)
// clang-format on

enum class ExprKind : uint8_t {
#define X(name) name,
  TW_EXPR_KINDS(X)
#undef X
};

/// What every expression has. `type` is computed by the node's `check`.
struct ExprNode : std::enable_shared_from_this<ExprNode> {
  ExprKind kind;
  Type type;
  Span span;

 protected:
  explicit ExprNode(ExprKind k) : kind(k) {}
};

template <ExprKind K>
struct ExprOf : ExprNode {
  static constexpr ExprKind kKind = K;
  ExprOf() : ExprNode(K) {}
};

class Expr : public Handle<ExprNode> {
 public:
  using Handle::Handle;
  Expr(int64_t index);  // an i64 constant, so that `i + 1` reads as written
  Expr(int index) : Expr(static_cast<int64_t>(index)) {}
  static Expr of(const ExprNode& node) { return Expr(node.shared_from_this()); }
  Type type() const { return get()->type; }

  /// The node as a T, or nullptr.
  template <class T>
  const T* as() const {
    return get() != nullptr && get()->kind == T::kKind ? static_cast<const T*>(get()) : nullptr;
  }
};

struct VarNode;

/// A variable: identity is the node, never the name.
class Var : public Expr {
 public:
  Var() = default;
  explicit Var(std::string name, Type type = kIndex, Span span = {});
  /// The variable behind an expression that is one.
  static Var of(const VarNode& node);
  const std::string& name() const;

 private:
  explicit Var(std::shared_ptr<const ExprNode> node) : Expr(std::move(node)) {}
};

struct BufferNode;
using Buffer = Handle<BufferNode>;

/// An integer or bool constant. Unsigned 64-bit values are kept as their bits.
struct IntImm : ExprOf<ExprKind::IntImm> {
  Type of;
  int64_t value = 0;
  static constexpr auto fields = members(&IntImm::of, &IntImm::value);
  Type check() const;
};

/// A float constant, exactly representable in `of`. An exact rational is written as a division of
/// two constants (`1.0 / 6.0`), which no pass folds before code generation.
struct FloatImm : ExprOf<ExprKind::FloatImm> {
  Type of;
  double value = 0;
  static constexpr auto fields = members(&FloatImm::of, &FloatImm::value);
  Type check() const;
};

/// A loop variable, block iterator, let-bound value, symbol or scalar parameter.
struct VarNode : ExprOf<ExprKind::VarNode> {
  Type of;
  std::string name;
  static constexpr auto fields = members(&VarNode::of, &VarNode::name);
  Type check() const;
};

struct Unary : ExprOf<ExprKind::Unary> {
  UnaryOp op{};
  Expr a;
  static constexpr auto fields = members(&Unary::op, &Unary::a);
  Type check() const;
};

/// Both operands have the same type, lanes included; comparisons give bool lanes.
struct Binary : ExprOf<ExprKind::Binary> {
  BinaryOp op{};
  Expr a, b;
  static constexpr auto fields = members(&Binary::op, &Binary::a, &Binary::b);
  Type check() const;
};

struct Call : ExprOf<ExprKind::Call> {
  MathFn fn{};
  std::vector<Expr> args;
  static constexpr auto fields = members(&Call::fn, &Call::args);
  Type check() const;
};

/// Value conversion; rounding and saturation as in README §3.4.
struct Cast : ExprOf<ExprKind::Cast> {
  Elem to{};
  Expr value;
  static constexpr auto fields = members(&Cast::to, &Cast::value);
  Type check() const;
};

/// The same bits seen as another type of the same width per lane.
struct Reinterpret : ExprOf<ExprKind::Reinterpret> {
  Elem to{};
  Expr value;
  static constexpr auto fields = members(&Reinterpret::to, &Reinterpret::value);
  Type check() const;
};

/// Evaluates all three operands, then chooses per lane.
struct Select : ExprOf<ExprKind::Select> {
  Expr cond, yes, no;
  static constexpr auto fields = members(&Select::cond, &Select::yes, &Select::no);
  Type check() const;
};

/// Evaluates `cond`, then only one of the others; loads inside `yes` may rely on `cond`.
struct Guard : ExprOf<ExprKind::Guard> {
  Expr cond, yes, no;
  static constexpr auto fields = members(&Guard::cond, &Guard::yes, &Guard::no);
  Type check() const;
};

/// Reads one element: `buffer[i, j, …]`, by logical indices until `flatten` has run. A vector index
/// reads one element per lane; lanes whose `mask` is false read nothing and give zero. `rank` names
/// another block's instance of a shared buffer inside a cluster. Out of range has no meaning: the
/// verifier must prove the indices in range before code is generated.
struct Load : ExprOf<ExprKind::Load> {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr mask;  // may be null: every lane
  Expr rank;  // may be null: this block
  static constexpr auto fields = members(&Load::buffer, &Load::indices, &Load::mask, &Load::rank);
  Type check() const;
};

/// base, base + stride, … as `lanes` lanes.
struct Ramp : ExprOf<ExprKind::Ramp> {
  Expr base, stride;
  int32_t lanes = 0;
  static constexpr auto fields = members(&Ramp::base, &Ramp::stride, &Ramp::lanes);
  Type check() const;
};

struct Broadcast : ExprOf<ExprKind::Broadcast> {
  Expr value;
  int32_t lanes = 0;
  static constexpr auto fields = members(&Broadcast::value, &Broadcast::lanes);
  Type check() const;
};

/// Combines the lanes of a vector to a scalar, in lane order. Add, Mul, Min, Max, And, Or.
struct VectorReduce : ExprOf<ExprKind::VectorReduce> {
  BinaryOp op{};
  Expr value;
  static constexpr auto fields = members(&VectorReduce::op, &VectorReduce::value);
  Type check() const;
};

/// Builds a node after its check: `make<Load>(span, buffer, indices)`; trailing fields may be left
/// out. A failed check is our mistake: whoever takes a user's text checks types first.
template <class T, class... Fields>
Expr make(const Span& span, Fields&&... values);

namespace detail {
/// Not inlined: a recursive visitor of all kinds would need the stack of all of them at each level.
template <class F, class T>
[[gnu::noinline]] decltype(auto) visit_one(F& f, const T& node) {
  return f(node);
}
}  // namespace detail

/// Calls f(const T&) with the node's own type.
template <class F>
decltype(auto) visit(const Expr& e, F&& f) {
  switch (e->kind) {
#define X(name) \
  case ExprKind::name: return detail::visit_one(f, static_cast<const name&>(*e));
    TW_EXPR_KINDS(X)
#undef X
  }
  __builtin_unreachable();
}

namespace detail {
template <class Node, size_t I = 0>
void assign(Node&) {}
template <class Node, size_t I = 0, class First, class... Rest>
void assign(Node& node, First&& first, Rest&&... rest) {
  node.*std::get<I>(Node::fields) = std::forward<First>(first);
  assign<Node, I + 1>(node, std::forward<Rest>(rest)...);
}
}  // namespace detail

template <class T, class... Fields>
Expr make(const Span& span, Fields&&... values) {
  auto node = std::make_shared<T>();
  detail::assign(*node, std::forward<Fields>(values)...);
  node->span = span;
  node->type = node->check();
  return Expr(std::shared_ptr<const ExprNode>(std::move(node)));
}

}  // namespace tilewright::ir

// `a < b` on expressions builds a comparison; ordered containers compare identities instead.
template <>
struct std::less<tilewright::ir::Expr> {
  bool operator()(const tilewright::ir::Expr& a, const tilewright::ir::Expr& b) const {
    return std::less<>()(a.get(), b.get());
  }
};
template <>
struct std::less<tilewright::ir::Var> : std::less<tilewright::ir::Expr> {};
template <>
struct std::hash<tilewright::ir::Expr>
    : std::hash<tilewright::ir::Handle<tilewright::ir::ExprNode>> {};
template <>
struct std::hash<tilewright::ir::Var>
    : std::hash<tilewright::ir::Handle<tilewright::ir::ExprNode>> {};
