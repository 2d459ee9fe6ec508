// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret/memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "ir/layout.h"
#include "ir/scalar.h"
#include "support/str.h"

namespace tilewright::ir::run {
namespace {

constexpr int64_t kMostPoints = int64_t{1} << 30;  // a bit each; untouched ones take no memory

int64_t coordinate(const Expr& e, const Values& values) {
  if (const std::optional<int64_t> v = evaluate(e, values)) return *v;
  throw Error({.code = "ir.run.layout",
               .at = e->span,
               .message = "a layout function is built from +, *, /, % and ^ of its variables",
               .help = "rewrite the coordinate with these operators"});
}

[[noreturn]] void bad_layout(const BufferNode& buffer, const std::string& note) {
  throw Error({.code = "ir.run.layout",
               .at = buffer.span,
               .message = str("the layout of `", buffer.name,
                              "` is not injective or leaves its "
                              "extents"),
               .notes = {note},
               .help = "give every element and replica a physical place of its own"});
}

std::string list(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t v : values) text += str(text.empty() ? "" : ", ", v);
  return text;
}

std::vector<int64_t> point_of(int64_t element, const std::vector<int64_t>& shape) {
  std::vector<int64_t> point(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    point[d] = element % shape[d];
    element /= shape[d];
  }
  return point;
}

}  // namespace

std::optional<int64_t> evaluate(const Expr& e, const Values& values) {
  if (const IntImm* i = e.as<IntImm>()) return i->value;
  if (const Binary* b = e.as<Binary>()) {
    const std::optional<int64_t> x = evaluate(b->a, values), y = evaluate(b->b, values);
    if (!x || !y || b->a.type().is_float()) return std::nullopt;
    return int_binary(b->op, b->a.type().elem, *x, *y);
  }
  if (const VarNode* v = e.as<VarNode>())
    for (const auto& [var, value] : values)
      if (var == v) return value;
  return std::nullopt;
}

void RunSet::Free::operator()(void* p) const { std::free(p); }

RunSet::RunSet(int32_t block, std::vector<int64_t> extents, size_t reductions)
    : block_(block), extents_(std::move(extents)), reductions_(reductions) {
  int64_t points = 1;
  for (const int64_t e : extents_)
    if (__builtin_mul_overflow(points, e, &points) || points > kMostPoints) return;
  for (size_t d = extents_.size() - reductions_; d < extents_.size(); ++d) reduced_ *= extents_[d];
  bits_.reset(static_cast<uint64_t*>(std::calloc(static_cast<size_t>(points / 64 + 1), 8)));
  starts_.reset(static_cast<uint32_t*>(std::calloc(static_cast<size_t>(points / reduced_ + 1), 4)));
  if (!bits_ || !starts_) throw std::bad_alloc();
}

int64_t RunSet::index(const std::vector<int64_t>& point) const {
  int64_t at = 0;
  for (size_t d = 0; d < point.size(); ++d) at = at * extents_[d] + point[d];
  return at;
}

bool RunSet::insert(const std::vector<int64_t>& point) {
  if (!bits_) return points_.insert(point).second;
  const int64_t at = index(point);
  uint64_t& word = bits_[static_cast<size_t>(at / 64)];
  const uint64_t bit = uint64_t{1} << (at % 64);
  const bool added = (word & bit) == 0;
  word |= bit;
  return added;
}

void RunSet::of_start(const std::vector<int64_t>& point, uint32_t start) {
  uint32_t& known = bits_
                        ? starts_[static_cast<size_t>(index(point) / reduced_)]
                        : starts_of_many_[{point.begin(),
                                           point.end() - static_cast<std::ptrdiff_t>(reductions_)}];
  if (known == start) return;
  known = start;
  forget(point);
}

void RunSet::forget(const std::vector<int64_t>& point) {
  if (!bits_) {
    const auto kept = static_cast<std::ptrdiff_t>(point.size() - reductions_);
    auto at = points_.lower_bound({point.begin(), point.begin() + kept});
    while (at != points_.end() && std::equal(point.begin(), point.begin() + kept, at->begin()))
      at = points_.erase(at);
    return;
  }
  const int64_t first = index(point) / reduced_ * reduced_;
  for (int64_t at = first; at < first + reduced_;) {
    const int64_t end = std::min(first + reduced_, (at / 64 + 1) * 64);
    const int64_t count = end - at;
    const uint64_t ones = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    bits_[static_cast<size_t>(at / 64)] &= ~(ones << (at % 64));
    at = end;
  }
}

void Instance::set_shape(std::vector<int64_t> extents) {
  shape = std::move(extents);
  strides.assign(shape.size(), 0);
  size = 0;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  size = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = size;
    size *= shape[d];
  }
}

LayoutTable tabulate(const BufferNode& buffer, const std::vector<int64_t>& shape,
                     const Values& free_vars) {
  const LayoutNode& layout = *buffer.layout;
  LayoutTable table;
  table.replicas = layout.replicas;
  int64_t size = 1;
  for (const int64_t e : shape) size *= e;
  std::vector<int64_t> extents;
  bool has_lane = false;
  for (const PhysDim& d : layout.dims) {
    extents.push_back(coordinate(d.extent, free_vars));
    has_lane = has_lane || d.kind == PhysKind::Lane;
  }
  const bool packed = bits(buffer.elem) < 8;
  Values env;
  for (const Var& v : layout.indices) env.emplace_back(v.as<VarNode>(), 0);
  if (layout.replica) env.emplace_back(layout.replica.as<VarNode>(), 0);
  env.insert(env.end(), free_vars.begin(), free_vars.end());
  std::vector<std::pair<std::vector<int64_t>, int64_t>> places;
  for (int64_t element = 0; element < size; ++element) {
    const std::vector<int64_t> point = point_of(element, shape);
    for (size_t d = 0; d < point.size(); ++d) env[d].second = point[d];
    for (int64_t r = 0; r < layout.replicas; ++r) {
      if (layout.replica) env[point.size()].second = r;
      std::vector<int64_t> place;
      int64_t lane = 0, address = 0;
      for (size_t d = 0; d < layout.dims.size(); ++d) {
        const int64_t at = coordinate(layout.dims[d].index, env);
        if (at < 0 || at >= extents[d])
          bad_layout(buffer, str("element [", list(point), "] lies at ", at, " of dimension ", d,
                                 ", which has ", extents[d], " places"));
        place.push_back(at);
        if (layout.dims[d].kind == PhysKind::Lane) lane = lane * extents[d] + at;
        if (layout.dims[d].kind == PhysKind::Address) address = address * extents[d] + at;
      }
      if (has_lane) table.lane.push_back(lane);
      if (packed) table.address.push_back(address);
      places.emplace_back(std::move(place), element);
    }
  }
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].first == places[i - 1].first)
      bad_layout(buffer, str("elements [", list(point_of(places[i - 1].second, shape)), "] and [",
                             list(point_of(places[i].second, shape)), "] share the place [",
                             list(places[i].first), "]"));
  return table;
}

std::string element_name(const Instance& m, int64_t element) {
  return str(m.buffer->name, "[", list(point_of(element, m.shape)), "]");
}

}  // namespace tilewright::ir::run
