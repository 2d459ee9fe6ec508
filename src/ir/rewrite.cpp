// SPDX-License-Identifier: Apache-2.0
#include "ir/rewrite.h"

#include <optional>

namespace tilewright::ir {
namespace {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

/// The mapped field, or nothing when it stays as it is.
template <class F>
std::optional<F> mapped(const F& field, const ChildMap& map) {
  if constexpr (std::is_same_v<F, Expr>) {
    if (!field) return std::nullopt;
    Expr e = map.expr(field);
    return e == field ? std::nullopt : std::optional(std::move(e));
  } else if constexpr (std::is_same_v<F, Stmt>) {
    if (!field) return std::nullopt;
    Stmt s = map.stmt(field);
    return s == field ? std::nullopt : std::optional(std::move(s));
  } else if constexpr (std::is_same_v<F, Buffer>) {
    if (!field) return std::nullopt;
    Buffer b = map.buffer(field);
    return b == field ? std::nullopt : std::optional(std::move(b));
  } else if constexpr (IsVector<F>::value) {
    std::optional<F> copy;
    for (size_t i = 0; i < field.size(); ++i) {
      if (auto item = mapped(field[i], map)) {
        if (!copy) copy = field;
        (*copy)[i] = std::move(*item);
      }
    }
    return copy;
  } else if constexpr (HasFields<F>) {
    std::optional<F> copy;
    std::apply(
        [&](auto... m) {
          const auto one = [&](auto member) {
            if (auto item = mapped(field.*member, map)) {
              if (!copy) copy = field;
              (*copy).*member = std::move(*item);
            }
          };
          (one(m), ...);
        },
        F::fields);
    return copy;
  } else {
    return std::nullopt;  // names, numbers, enums; variables where they are bound
  }
}

template <class T>
std::shared_ptr<T> mapped_node(const T& node, const ChildMap& map) {
  std::shared_ptr<T> copy;
  std::apply(
      [&](auto... m) {
        const auto one = [&](auto member) {
          if (auto item = mapped(node.*member, map)) {
            if (!copy) copy = std::make_shared<T>(node);
            (*copy).*member = std::move(*item);
          }
        };
        (one(m), ...);
      },
      T::fields);
  return copy;
}

template <class F>
void each(const F& field, FunctionRef<void(const Expr&)> expr,
          FunctionRef<void(const Stmt&)> stmt) {
  if constexpr (std::is_same_v<F, Expr>) {
    if (field) expr(field);
  } else if constexpr (std::is_same_v<F, Stmt>) {
    if (field) stmt(field);
  } else if constexpr (IsVector<F>::value) {
    if constexpr (std::is_class_v<typename F::value_type>)
      for (const auto& item : field) each(item, expr, stmt);
  } else if constexpr (HasFields<F>) {
    for_each_field(field, [&](const auto& part) { each(part, expr, stmt); });
  }
}

template <class Map>
auto substitution(const Map& map) {
  return [&map](const VarNode& v, auto&) -> Expr {
    const auto found = map.find(Var::of(v));
    return found == map.end() ? Expr::of(v) : found->second;
  };
}

}  // namespace

Expr map_children(const Expr& e, const ChildMap& map) {
  return visit(e, [&]<class T>(const T& node) -> Expr {
    auto copy = mapped_node(node, map);
    if (!copy) return e;
    copy->type = copy->check();
    return Expr(std::shared_ptr<const ExprNode>(std::move(copy)));
  });
}

Stmt map_children(const Stmt& s, const ChildMap& map) {
  return visit(s, [&]<class T>(const T& node) -> Stmt {
    auto copy = mapped_node(node, map);
    if (!copy) return s;
    if constexpr (std::is_same_v<T, Seq>) return seq(std::move(copy->stmts), copy->span);
    copy->check();
    return Stmt(std::shared_ptr<const StmtNode>(std::move(copy)));
  });
}

void for_each_child(const Expr& e, FunctionRef<void(const Expr&)> expr) {
  const auto no_stmt = [](const Stmt&) {};
  visit(e, [&](const auto& node) {
    for_each_field(node, [&](const auto& field) { each(field, expr, no_stmt); });
  });
}

void for_each_child(const Stmt& s, FunctionRef<void(const Expr&)> expr,
                    FunctionRef<void(const Stmt&)> stmt) {
  visit(s, [&](const auto& node) {
    for_each_field(node, [&](const auto& field) { each(field, expr, stmt); });
  });
}

Expr substitute(const Expr& e, const VarMap& map) {
  return map.empty() ? e : rewrite(e, substitution(map));
}

Buffer substitute(const Buffer& b, const VarMap& map) {
  BufferNode copy = *b;
  bool changed = false;
  const auto put = [&](Expr& e) {
    const Expr now = substitute(e, map);
    changed = changed || now != e;
    e = now;
  };
  for (Expr& extent : copy.shape) put(extent);
  if (b->layout) {
    LayoutNode layout = *b->layout;
    for (PhysDim& dim : layout.dims) put(dim.extent);
    copy.layout = Layout(std::make_shared<const LayoutNode>(std::move(layout)));
  }
  return changed ? Buffer(std::make_shared<const BufferNode>(std::move(copy))) : b;
}

Stmt substitute(const Stmt& s, const VarMap& map) {
  if (map.empty()) return s;
  BufferMap resized;
  return rewrite(
      s, substitution(map),
      [&](const Alloc& a, auto& self) -> Stmt {
        if (const Buffer b = substitute(a.buffer, map); b != a.buffer) resized[a.buffer] = b;
        return self.children(a);
      },
      [&](const Buffer& b) -> Buffer {
        const auto found = resized.find(b);
        return found == resized.end() ? b : found->second;
      });
}

Region substitute(const Region& region, const VarMap& map) {
  Region out = region;
  for (Range& r : out.ranges) r = {substitute(r.min, map), substitute(r.extent, map)};
  if (out.rank) out.rank = substitute(out.rank, map);
  return out;
}

Stmt substitute_buffers(const Stmt& s, const BufferMap& map) {
  return rewrite(s, [&](const Buffer& b) -> Buffer {
    const auto found = map.find(b);
    return found == map.end() ? b : found->second;
  });
}

bool uses(const Expr& e, const Var& var) {
  bool found = false;
  walk(e, [&](const VarNode& v) { found = found || &v == var.get(); });
  return found;
}

bool uses(const Stmt& s, const Var& var) {
  bool found = false;
  walk(
      s, [&](const VarNode& v) { found = found || &v == var.get(); },
      [&](const Alloc& a) {
        for (const Expr& extent : a.buffer->shape) found = found || uses(extent, var);
        if (!a.buffer->layout) return;
        for (const PhysDim& dim : a.buffer->layout->dims) found = found || uses(dim.extent, var);
      });
  return found;
}

std::unordered_set<Var> vars_of(const Expr& e) {
  std::unordered_set<Var> out;
  walk(e, [&](const VarNode& v) { out.insert(Var::of(v)); });
  return out;
}

bool has_load(const Expr& e) {
  bool found = false;
  walk(e, [&](const Load&) { found = true; });
  return found;
}

}  // namespace tilewright::ir
