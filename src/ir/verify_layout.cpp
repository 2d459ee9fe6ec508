// SPDX-License-Identifier: Apache-2.0
// Layout functions: their grammar, their range, and that no two elements share a place.
#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "ir/verify_rules.h"
#include "support/str.h"

namespace tilewright::ir::detail {

bool next_point(std::vector<int64_t>& point, const std::vector<int64_t>& extents) {
  size_t i = point.size();
  while (i > 0 && ++point[i - 1] == extents[i - 1]) point[--i] = 0;
  return i > 0;
}

namespace {

constexpr std::string_view kGrammar =
    "build it from `+`, `*` by a constant, `/` and `%` by a positive constant, and `^`, over "
    "the layout's own variables; a symbol only as the factor of a term";

class Grammar {
 public:
  Grammar(const BufferNode& b, const std::vector<Symbol>& symbols) : b_(b) {
    for (const Var& v : b.layout->indices) own_.push_back(v);
    if (b.layout->replica) own_.push_back(b.layout->replica);
    for (const Symbol& s : symbols) symbols_.push_back(s.var);
  }

  /// `outermost`: terms of the top-level sum, whose factors may be symbolic.
  void check(const Expr& e, bool outermost) const {
    if (const auto c = const_int(e)) {
      if (*c < 0) refuse(e, str("the negative constant ", *c));
      return;
    }
    if (const VarNode* v = e.as<VarNode>()) {
      if (!contains(own_, *v)) refuse(e, quoted(v->name));
      return;
    }
    const Binary* binary = e.as<Binary>();
    if (!binary) refuse(e, "a function that layouts do not know");
    const std::optional<int64_t> right = const_int(binary->b);
    switch (binary->op) {
      case BinaryOp::Add:
        check(binary->a, outermost);
        check(binary->b, outermost);
        return;
      case BinaryOp::Mul:
        if (is_factor(binary->b, outermost)) return check(binary->a, false);
        if (is_factor(binary->a, outermost)) return check(binary->b, false);
        refuse(e, "a product without a constant factor");
      case BinaryOp::Div:
      case BinaryOp::Mod:
        if (!right || *right < 1)
          refuse(e,
                 str("`", info(binary->op).text, "` by something else than a positive constant"));
        return check(binary->a, false);
      case BinaryOp::BitXor:
        check(binary->a, false);
        check(binary->b, false);
        return;
      default: refuse(e, str("the operator `", info(binary->op).text, "`"));
    }
  }

  /// The extent of a physical dimension: constants and symbols only.
  void check_extent(const Expr& e) const {
    walk(e, [&](const VarNode& v) {
      if (!contains(symbols_, v)) refuse(e, str("the extent ", quoted(v.name)));
    });
  }

 private:
  static bool contains(const std::vector<Var>& vars, const VarNode& v) {
    return std::count(vars.begin(), vars.end(), Var::of(v)) > 0;
  }

  bool is_factor(const Expr& e, bool symbolic) const {
    if (const auto c = const_int(e)) return *c >= 0;
    if (!symbolic) return false;
    if (const VarNode* v = e.as<VarNode>()) return contains(symbols_, *v);
    const Binary* product = e.as<Binary>();
    return product && product->op == BinaryOp::Mul && is_factor(product->a, true) &&
           is_factor(product->b, true);
  }

  [[noreturn]] void refuse(const Expr& e, const std::string& what) const {
    fail("ir.verify.layout_form", place(e, b_.span),
         str("the layout of ", quoted(b_.name), " contains ", what), {}, std::string(kGrammar));
  }

  const BufferNode& b_;
  std::vector<Var> own_, symbols_;
};

/// d such that e(v + step) == e(v) + d for all values, where that is known.
std::optional<int64_t> shift_of(const Expr& e, const Var& v, int64_t step) {
  if (!uses(e, v)) return 0;
  if (e == v) return step;
  const Binary& binary = *e.as<Binary>();
  const auto a = shift_of(binary.a, v, step), b = shift_of(binary.b, v, step);
  if (!a || !b) return std::nullopt;
  const std::optional<int64_t> ca = const_int(binary.a), cb = const_int(binary.b);
  int64_t shift = 0;
  switch (binary.op) {
    case BinaryOp::Add:
      return __builtin_add_overflow(*a, *b, &shift) ? std::nullopt : std::optional(shift);
    case BinaryOp::Mul:
      if (!ca && !cb) return std::nullopt;
      return __builtin_mul_overflow(ca ? *b : *a, ca ? *ca : *cb, &shift) ? std::nullopt
                                                                          : std::optional(shift);
    case BinaryOp::Div: return *a % *cb == 0 ? std::optional(*a / *cb) : std::nullopt;
    case BinaryOp::Mod: return *a % *cb == 0 ? std::optional(shift) : std::nullopt;
    case BinaryOp::BitXor: return *a == 0 && *b == 0 ? std::optional(shift) : std::nullopt;
    default: return std::nullopt;
  }
}

/// c when e is exactly v / c (or v: 1).
std::optional<int64_t> quotient_of(const Expr& e, const Var& v) {
  if (e == v) return 1;
  const Binary* div = e.as<Binary>();
  if (div && div->op == BinaryOp::Div && div->a == v) return const_int(div->b);
  return std::nullopt;
}

/// One concrete size of the layout's domain and image.
struct Instance {
  std::vector<Var> vars;  // indices, then the replica
  std::vector<int64_t> extents;
  std::vector<int64_t> places;  // extents of the physical dimensions
  Values symbols;
};

constexpr int64_t kMaxPeriod = 1 << 16;

/// A dimension that is v / c keeps apart what it keeps apart inside one period of the others in v,
/// so that one period decides:  (i / 16, i % 16) on 0..1024 is decided on 0..16.
void reduce_to_period(const LayoutNode& layout, Instance& instance, size_t var) {
  const Var& v = instance.vars[var];
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    const std::optional<int64_t> c = quotient_of(layout.dims[d].index, v);
    if (!c) continue;
    int64_t period = *c;
    for (const PhysDim& dim : layout.dims) {
      walk(dim.index, [&](const Binary& b) {
        if ((b.op == BinaryOp::Mod || b.op == BinaryOp::Div) && uses(b.a, v) &&
            period <= kMaxPeriod)
          period = std::lcm(period, std::min(*const_int(b.b), kMaxPeriod + 1));
      });
    }
    if (period > kMaxPeriod || period >= instance.extents[var]) return;
    for (size_t other = 0; other < layout.dims.size(); ++other)
      if (other != d && shift_of(layout.dims[other].index, v, period) != 0) return;
    instance.extents[var] = period;
    return;
  }
}

class Enumeration {
 public:
  Enumeration(const BufferNode& b, const Instance& instance) : b_(b), instance_(instance) {}

  void check_injective() {
    std::vector<int64_t> images;
    each_point([&](const std::vector<int64_t>&, int64_t image) { images.push_back(image); });
    std::sort(images.begin(), images.end());
    const auto twice = std::adjacent_find(images.begin(), images.end());
    if (twice == images.end()) return;
    std::vector<std::string> points;
    each_point([&](const std::vector<int64_t>& point, int64_t image) {
      if (image == *twice && points.size() < 2) points.push_back(print_point(point));
    });
    fail("ir.verify.layout_injective", b_.span,
         str("the layout of ", quoted(b_.name), " maps ", points[0], " and ", points[1],
             " to one place"),
         {"a layout gives every element, and every replica of it, a place of its own"},
         "use every part of the indices: what `/` and `%` take apart must appear in both parts");
  }

 private:
  /// Calls f(point, row-major number of its place) for every point of the domain.
  template <class F>
  void each_point(F f) {
    Values values = instance_.symbols;
    std::vector<int64_t> point(instance_.vars.size(), 0);
    do {
      for (size_t i = 0; i < point.size(); ++i) values[instance_.vars[i].as<VarNode>()] = point[i];
      f(point, image_of(point, values));
    } while (next_point(point, instance_.extents));
  }

  int64_t image_of(const std::vector<int64_t>& point, const Values& values) {
    int64_t image = 0;
    for (size_t d = 0; d < b_.layout->dims.size(); ++d) {
      const int64_t at = evaluate(b_.layout->dims[d].index, values).value();
      if (at < 0 || at >= instance_.places[d])
        fail("ir.verify.layout_range", b_.span,
             str("the layout of ", quoted(b_.name), " maps ", print_point(point), " to place ", at,
                 " of a dimension with ", instance_.places[d], " places"),
             {str("physical dimension ", d, " of ", b_.layout->dims.size())},
             "state extents that hold every place the function reaches");
      image = image * instance_.places[d] + at;
    }
    return image;
  }

  std::string print_point(const std::vector<int64_t>& point) const {
    std::string text = "[";
    for (size_t i = 0; i < b_.layout->indices.size(); ++i) text += str(i ? ", " : "", point[i]);
    text += "]";
    if (b_.layout->replica) text += str(" replica ", point.back());
    return text;
  }

  const BufferNode& b_;
  const Instance& instance_;
};

/// The least value of a few elements that the symbol can have; its greatest when all are smaller.
int64_t small_value(const Symbol& s) {
  constexpr int64_t kFew = 4;
  const int64_t least = std::max(s.min, std::min(kFew, s.max));
  const int64_t greatest = s.max / s.divisor * s.divisor;
  if (least > greatest) return greatest;
  return least == 0 ? 0 : ((least - 1) / s.divisor + 1) * s.divisor;
}

/// The layout at constant extents, or at small values of the symbols; nothing when a shape depends
/// on other variables.
std::optional<Instance> instance_of(const BufferNode& b, const std::vector<Symbol>& symbols) {
  Instance instance;
  for (const Symbol& s : symbols) instance.symbols[s.var.as<VarNode>()] = small_value(s);
  for (size_t i = 0; i < b.shape.size(); ++i) {
    const auto extent = evaluate(b.shape[i], instance.symbols);
    if (!extent || *extent < 0) return std::nullopt;
    instance.vars.push_back(b.layout->indices[i]);
    instance.extents.push_back(*extent);
  }
  if (b.layout->replica) {
    instance.vars.push_back(b.layout->replica);
    instance.extents.push_back(b.layout->replicas);
  }
  __int128 places = 1;
  for (const PhysDim& dim : b.layout->dims) {
    const auto extent = evaluate(dim.extent, instance.symbols);
    if (!extent) return std::nullopt;
    instance.places.push_back(*extent);
    places = std::min<__int128>(places * *extent, __int128{1} << 62);
  }
  if (places >= __int128{1} << 62) return std::nullopt;
  return instance;
}

void check_places(const BufferNode& b, const std::vector<Symbol>& symbols) {
  std::optional<Instance> instance = instance_of(b, symbols);
  if (!instance) return;
  for (const int64_t extent : instance->extents)
    if (extent == 0) return;  // no element, no place
  const LayoutNode& layout = *b.layout;
  for (size_t v = 0; v < instance->vars.size(); ++v) {
    const int64_t last = instance->extents[v] - 1;
    for (size_t d = 0; d < layout.dims.size(); ++d) {
      const std::optional<int64_t> c = quotient_of(layout.dims[d].index, instance->vars[v]);
      if (c && last / *c >= instance->places[d])
        fail("ir.verify.layout_range", b.span,
             str("the layout of ", quoted(b.name), " maps index ", last, " of dimension ", v,
                 " to place ", last / *c, " of a dimension with ", instance->places[d], " places"),
             {str("physical dimension ", d, " of ", layout.dims.size())},
             "state extents that hold every place the function reaches");
    }
    reduce_to_period(layout, *instance, v);
  }
  // What is still too large is looked at in one corner: a collision there is one of the whole.
  int64_t points = 1;
  for (int64_t& extent : instance->extents) {
    extent = std::min(extent, std::max<int64_t>(kMaxPoints / points, 1));
    points *= extent;
  }
  Enumeration(b, *instance).check_injective();
}

}  // namespace

void verify_layout(const BufferNode& b, const std::vector<Symbol>& symbols) {
  if (!b.layout) return;
  const LayoutNode& layout = *b.layout;
  const Grammar grammar(b, symbols);
  for (const PhysDim& dim : layout.dims) {
    grammar.check(dim.index, true);
    grammar.check_extent(dim.extent);
    const ScopeKind scope = b.scope.kind;
    const bool in_threads = scope == ScopeKind::Register || scope == ScopeKind::Tile ||
                            scope == ScopeKind::Warp || scope == ScopeKind::Named;
    if (dim.kind != PhysKind::Address && !in_threads)
      fail("ir.verify.layout_form", b.span,
           str("the layout of ", quoted(b.name), " spreads `", print(b.scope), "` memory over ",
               dim.kind == PhysKind::Lane ? "lanes" : "registers"),
           {}, "use `address` dimensions, or a buffer in `register`");
  }
  if (layout.replicas < 1 || (layout.replicas > 1 && !layout.replica))
    fail("ir.verify.layout_form", b.span,
         str("the layout of ", quoted(b.name), " has ", layout.replicas, " replicas"), {},
         "state at least one replica, with a variable: `(i, j; r in 0..2)`");
  check_places(b, symbols);
}

}  // namespace tilewright::ir::detail
