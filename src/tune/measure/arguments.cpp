// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/arguments.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "arith/context.h"
#include "ir/interpret/array.h"
#include "ir/operand.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "tune/measure/build.h"

namespace tilewright::tune {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 32;
constexpr int64_t kAlignment = 64;

/// How far two right answers may lie apart, relative to the greatest value of all.
double tolerance(ir::Elem elem) {
  const double unit = std::ldexp(1.0, -ir::info(elem).mantissa_bits);
  return elem == ir::Elem::F64 ? 1e-9 : elem == ir::Elem::F32 ? 1e-4 : 4 * unit;
}

/// The elements of memory as numbers.
template <class T>
auto values_in(const std::byte* bytes) {
  return [values = reinterpret_cast<const T*>(bytes)](int64_t i) {
    return static_cast<double>(values[i]);
  };
}

template <class Want, class Got>
std::string difference_of(ir::Elem elem, int64_t elements, bool from_floats, const Want& want,
                          const Got& got) {
  const bool is_float = ir::is_float(elem);
  double greatest = 0, far = 0;
  int64_t place = -1, wrong = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const double a = want(i), b = got(i);
    if (std::isfinite(a)) greatest = std::max(greatest, std::abs(a));
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ++wrong;
    const double apart = std::abs(a - b);  // not a number where one of them is none
    if (place >= 0 && apart <= far) continue;
    far = std::isfinite(apart) ? apart : INFINITY;
    place = i;
  }
  const bool fine = is_float ? far <= tolerance(elem) * greatest
                             : from_floats && far <= 1 && wrong <= 1 + elements / 1000;
  if (fine || place < 0) return {};
  return str("element ", place, " is ", got(place), ", not ", want(place), "; ", wrong, " of ",
             elements, " differ");
}

}  // namespace

Memory::Pages Memory::pages_of(int64_t bytes) {
  return on_large_pages(bytes) ? Pages::Large : Pages::Small;
}

Memory::Memory(int64_t bytes, Pages pages) : size_(bytes) {
  if (pages == Pages::Large && bytes > 0) {
    large_ = PagedMemory(static_cast<size_t>(bytes), true);
    if (large_.size() == 0) throw std::bad_alloc();
    return;
  }
  const int64_t whole = (bytes + kAlignment) / kAlignment * kAlignment;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<size_t>(whole))));
  if (!data_) throw std::bad_alloc();
}

Arguments::Arguments(const Task& task) : params_(task.func.params), inputs_(inputs_of(task.func)) {
  ir::VarMap values;
  for (size_t i = 0; i < task.func.symbols.size() && i < task.symbols.size(); ++i)
    values[task.func.symbols[i].var] = task.symbols[i];
  for (const ir::Param& p : params_) {
    int64_t count = 1;
    for (const ir::Expr& e : ir::physical_extents(*p.buffer)) {
      const auto n = ir::const_int(arith::Context().simplify(ir::substitute(e, values)));
      if (!n || *n < 0 || __builtin_mul_overflow(count, *n, &count) || count > kMostElements)
        throw Error({.code = "tune.task.size",
                     .at = {},
                     .message = str("parameter `", p.buffer->name, "` of kernel `", task.name,
                                    "` has no size to measure with"),
                     .notes = {str("it has `", ir::name(p.buffer->elem), "` elements, ",
                                   p.buffer->shape.size(), " dimensions")},
                     .help = "give the dimensions of the model's inputs with --dim"});
    }
    elements_.push_back(count);
    bytes_.push_back((count * ir::bits(p.buffer->elem) + 7) / 8);
  }
  int64_t constants = 0;  // its own, where it is of no model
  for (size_t i = 0; i < inputs_; ++i)
    if (std::ranges::count(task.constants, params_[i].buffer->name) > 0) constants += bytes_[i];
  of_constants_ = Memory::pages_of(std::max(task.between, constants));
}

void Arguments::fill(uint64_t seed) {
  content_.clear();
  for (size_t i = 0; i < params_.size(); ++i) {
    content_.emplace_back(bytes_[i]);
    if (params_[i].access == ir::Access::Out) continue;
    ir::Array array = ir::random_array(elem(i), {elements_[i]}, seed + i);
    if (!ir::is_float(elem(i)))  // often indices: 0 and 1 are in range more often than others
      for (uint64_t& cell : array.cells) cell &= 1;
    const std::vector<std::byte> bytes = ir::to_bytes(array);
    if (!bytes.empty()) std::memcpy(content_[i].data(), bytes.data(), bytes.size());
  }
}

Memory Arguments::memory_of_constant(int64_t bytes) const {
  return Memory(bytes, bytes < kLargePage / 8 ? Memory::Pages::Small : of_constants_);
}

int64_t Arguments::total() const {
  int64_t all = 0;
  for (const int64_t b : bytes_) all += b;
  return all;
}

bool computes_floats(const ir::LoopFunc& func) {
  bool found = false;
  const auto look = [&](const auto& node) { found = found || node.type.is_float(); };
  ir::walk(
      func.body, [&](const ir::Binary& n) { look(n); }, [&](const ir::Call& n) { look(n); },
      [&](const ir::Cast& n) { look(n); });
  return found;
}

std::string difference(ir::Elem elem, int64_t elements, const std::byte* want, const std::byte* got,
                       bool from_floats) {
  const auto bytes = static_cast<size_t>((elements * ir::bits(elem) + 7) / 8);
  if (bytes == 0 || std::memcmp(want, got, bytes) == 0) return {};
  if (elem == ir::Elem::F32)
    return difference_of(elem, elements, from_floats, values_in<float>(want),
                         values_in<float>(got));
  const ir::Array w = ir::from_bytes(elem, {elements}, {want, bytes});
  const ir::Array g = ir::from_bytes(elem, {elements}, {got, bytes});
  return difference_of(
      elem, elements, from_floats, [&](int64_t i) { return w.as_double(i); },
      [&](int64_t i) { return g.as_double(i); });
}

}  // namespace tilewright::tune
