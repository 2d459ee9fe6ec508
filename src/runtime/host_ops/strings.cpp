// SPDX-License-Identifier: Apache-2.0
// Tensors of strings. Each operator counts the characters of its result first, then writes them.
#include <algorithm>
#include <new>

#include "runtime/host_ops/host_op.h"
#include "runtime/host_ops/text.h"

namespace tilewright::runtime {
namespace {

bool need_strings(HostCall& call, uint32_t i) {
  if (!call.need_array(i)) return false;
  if (call.input_type(i).is_strings()) return true;
  call.fail("input %u must be a tensor of strings", i);
  return false;
}

/// Writes `text(i)` for every element; asks for each twice.
template <class Text>
tw_status write_strings(HostCall& call, uint32_t output, std::span<const int64_t> dims,
                        Text&& text) {
  const int64_t count = element_count(dims);
  int64_t characters = 0;
  for (int64_t i = 0; i < count; ++i) characters += static_cast<int64_t>(text(i).size());
  StringsWriter out = call.output_strings(output, dims, characters);
  if (!out) return call.status();
  for (int64_t i = 0; i < count; ++i) out.add(text(i));
  return TW_OK;
}

/// Two arrays broadcast to one shape.
struct Pair {
  ArrayView a, b;
  int64_t dims[kMaxRank];
  size_t rank = 0;

  bool set(HostCall& call) {
    if (!need_strings(call, 0) || !need_strings(call, 1)) return false;
    a = call.array(0);
    b = call.array(1);
    rank = std::max(a.dims.size(), b.dims.size());
    for (size_t i = 0; i < rank; ++i) {
      const int64_t x = extent(a, i), y = extent(b, i);
      if (x != y && x != 1 && y != 1) {
        call.fail("shapes with extents %lld and %lld do not go together", static_cast<long long>(x),
                  static_cast<long long>(y));
        return false;
      }
      dims[i] = x == 1 ? y : x;
    }
    return true;
  }
  std::span<const int64_t> shape() const { return {dims, rank}; }
  std::string_view left(int64_t i) const { return a.string(place(a, i)); }
  std::string_view right(int64_t i) const { return b.string(place(b, i)); }

 private:
  int64_t extent(const ArrayView& v, size_t i) const {
    const size_t missing = rank - v.dims.size();
    return i < missing ? 1 : v.dims[i - missing];
  }
  int64_t place(const ArrayView& v, int64_t i) const {
    int64_t at = 0, step = 1;
    for (size_t d = rank; d-- > 0; i /= dims[d]) {
      const int64_t n = extent(v, d);
      if (n != 1) at += i % dims[d] * step;
      step *= n;
    }
    return at;
  }
};

tw_status concat(HostCall& call) {
  Pair pair;
  if (!pair.set(call)) return call.status();
  const int64_t count = element_count(pair.shape());
  int64_t characters = 0;
  for (int64_t i = 0; i < count; ++i)
    characters += static_cast<int64_t>(pair.left(i).size() + pair.right(i).size());
  StringsWriter out = call.output_strings(0, pair.shape(), characters);
  if (!out) return call.status();
  for (int64_t i = 0; i < count; ++i) out.add(pair.left(i), pair.right(i));
  return TW_OK;
}

tw_status equal(HostCall& call) {
  Pair pair;
  if (!pair.set(call)) return call.status();
  auto* out = static_cast<uint8_t*>(call.output(0, pair.shape()));
  if (out == nullptr) return call.status();
  for (int64_t i = 0; i < element_count(pair.shape()); ++i) out[i] = pair.left(i) == pair.right(i);
  return TW_OK;
}

tw_status split(HostCall& call) {
  if (!need_strings(call, 0)) return call.status();
  const ArrayView x = call.array(0);
  const Splitter splitter{call.attribute("delimiter", std::string_view()),
                          call.attribute("most", int64_t{-1})};
  int64_t most = 0, characters = 0;
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t parts = 0;
    splitter.each(x.string(i), [&](std::string_view part) {
      ++parts;
      characters += static_cast<int64_t>(part.size());
    });
    most = std::max(most, parts);
  }
  int64_t dims[kMaxRank + 1];
  std::copy(x.dims.begin(), x.dims.end(), dims);
  dims[x.dims.size()] = most;
  if (x.dims.size() + 1 > kMaxRank) return call.fail("the result has too many dimensions");
  StringsWriter out = call.output_strings(0, {dims, x.dims.size() + 1}, characters);
  if (!out) return call.status();
  auto* counts = call.has_output(1) ? static_cast<int64_t*>(call.output(1, x.dims)) : nullptr;
  if (call.has_output(1) && counts == nullptr) return call.status();
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t parts = 0;
    splitter.each(x.string(i), [&](std::string_view part) {
      ++parts;
      out.add(part);
    });
    if (counts != nullptr) counts[i] = parts;
    for (; parts < most; ++parts) out.add("");
  }
  return TW_OK;
}

bool is_stopword(const HostCall& call, std::string_view text, bool case_sensitive) {
  for (uint32_t k = 0; k < call.attribute_count("stopwords"); ++k) {
    const std::string_view word = call.string_attribute("stopwords", k);
    if (case_sensitive ? word == text : equal_without_case(word, text)) return true;
  }
  return false;
}

tw_status normalize(HostCall& call) {
  if (!need_strings(call, 0)) return call.status();
  const ArrayView x = call.array(0);
  const bool sensitive = call.attribute("case_sensitive", int64_t{0}) != 0;
  const auto change = static_cast<Letters>(call.attribute("change", int64_t{0}));
  int64_t kept = 0, characters = 0;
  for (int64_t i = 0; i < x.count(); ++i)
    if (!is_stopword(call, x.string(i), sensitive)) {
      ++kept;
      characters += static_cast<int64_t>(x.string(i).size());
    }
  // Of nothing, one empty string is left.
  int64_t dims[2] = {1, std::max<int64_t>(kept, 1)};
  const bool row = x.dims.size() == 2;
  StringsWriter out = call.output_strings(
      0, row ? std::span<const int64_t>(dims) : std::span(dims + 1, 1), characters);
  if (!out) return call.status();
  if (kept == 0) out.add("");
  for (int64_t i = 0; i < x.count(); ++i)
    if (!is_stopword(call, x.string(i), sensitive)) change_letters(out.add(x.string(i)), change);
  return TW_OK;
}

tw_status match(HostCall& call) {
  if (!need_strings(call, 0)) return call.status();
  const ArrayView x = call.array(0);
  Block* block = call.pool().get(sizeof(Pattern));
  if (block == nullptr) return call.fail("there is no memory for the pattern");
  auto* pattern = new (block->data()) Pattern;
  const char* problem = pattern->compile(call.attribute("pattern", std::string_view()));
  if (problem != nullptr) {
    block->release();
    return call.fail("the pattern %s", problem);
  }
  auto* out = static_cast<uint8_t*>(call.output(0, x.dims));
  if (out != nullptr)
    for (int64_t i = 0; i < x.count(); ++i) out[i] = pattern->matches(x.string(i));
  block->release();
  return out == nullptr ? call.status() : TW_OK;
}

tw_status find(HostCall& call) {
  if (!need_strings(call, 0) || !need_strings(call, 1)) return call.status();
  const ArrayView x = call.array(0), keys = call.array(1);
  const int64_t n = keys.count();
  Block* block = call.pool().get(n * 8 + 8);
  if (block == nullptr)
    return call.fail("there is no memory for %lld keys", static_cast<long long>(n));
  auto* order = static_cast<int64_t*>(block->data());
  for (int64_t k = 0; k < n; ++k) order[k] = k;
  std::sort(order, order + n, [&](int64_t a, int64_t b) {
    const int sign = keys.string(a).compare(keys.string(b));
    return sign < 0 || (sign == 0 && a < b);
  });
  auto* out = static_cast<int64_t*>(call.output(0, x.dims));
  if (out != nullptr)
    for (int64_t i = 0; i < x.count(); ++i) {
      const std::string_view text = x.string(i);
      const int64_t* at =
          std::lower_bound(order, order + n, text,
                           [&](int64_t k, std::string_view t) { return keys.string(k) < t; });
      out[i] = at != order + n && keys.string(*at) == text ? *at : -1;
    }
  block->release();
  return out == nullptr ? call.status() : TW_OK;
}

bool need_i64(HostCall& call, uint32_t i) {
  if (!call.need_array(i)) return false;
  if (call.input_type(i).elem == ElemType::I64) return true;
  call.fail("input %u must hold i64", i);
  return false;
}

tw_status choose(HostCall& call) {
  if (!need_i64(call, 0) || !need_strings(call, 1) || !need_strings(call, 2)) return call.status();
  const ArrayView at = call.array(0), values = call.array(1), otherwise = call.array(2);
  if (otherwise.count() != 1) return call.fail("input 2 must be one string");
  return write_strings(call, 0, at.dims, [&](int64_t i) {
    const int64_t k = at.as<int64_t>()[static_cast<size_t>(i)];
    return k >= 0 && k < values.count() ? values.string(k) : otherwise.string(0);
  });
}

tw_status join(HostCall& call) {
  int64_t count = 0, characters = 0;
  for (uint32_t k = 0; k < call.inputs(); ++k) {
    if (!need_strings(call, k)) return call.status();
    const ArrayView x = call.array(k);
    count += x.count();
    for (int64_t i = 0; i < x.count(); ++i) characters += static_cast<int64_t>(x.string(i).size());
  }
  StringsWriter out = call.output_strings(0, std::span<const int64_t>(&count, 1), characters);
  if (!out) return call.status();
  for (uint32_t k = 0; k < call.inputs(); ++k) {
    const ArrayView x = call.array(k);
    for (int64_t i = 0; i < x.count(); ++i) out.add(x.string(i));
  }
  return TW_OK;
}

tw_status take(HostCall& call) {
  if (!need_strings(call, 0) || !need_i64(call, 1)) return call.status();
  const ArrayView x = call.array(0), at = call.array(1);
  for (const int64_t k : at.as<int64_t>())
    if (k < 0 || k >= x.count())
      return call.fail("string %lld of %lld", static_cast<long long>(k),
                       static_cast<long long>(x.count()));
  return write_strings(call, 0, at.dims, [&](int64_t i) {
    return x.string(at.as<int64_t>()[static_cast<size_t>(i)]);
  });
}

template <class T>
bool parse_all(const ArrayView& x, void* data, int64_t& bad) {
  for (bad = 0; bad < x.count(); ++bad)
    if (!parse_number(x.string(bad), static_cast<T*>(data)[bad])) return false;
  return true;
}

tw_status parse(HostCall& call) {
  if (!need_strings(call, 0)) return call.status();
  const ArrayView x = call.array(0);
  void* out = call.output(0, x.dims);
  if (out == nullptr) return call.status();
  int64_t bad = 0;
  bool fine = false;
  switch (call.output_type(0).elem) {
    case ElemType::F32: fine = parse_all<float>(x, out, bad); break;
    case ElemType::F64: fine = parse_all<double>(x, out, bad); break;
    case ElemType::I8: fine = parse_all<int8_t>(x, out, bad); break;
    case ElemType::I16: fine = parse_all<int16_t>(x, out, bad); break;
    case ElemType::I32: fine = parse_all<int32_t>(x, out, bad); break;
    case ElemType::I64: fine = parse_all<int64_t>(x, out, bad); break;
    case ElemType::U8: fine = parse_all<uint8_t>(x, out, bad); break;
    case ElemType::U16: fine = parse_all<uint16_t>(x, out, bad); break;
    case ElemType::U32: fine = parse_all<uint32_t>(x, out, bad); break;
    case ElemType::U64: fine = parse_all<uint64_t>(x, out, bad); break;
    default: return call.fail("strings cannot be read as %s", name_of(call.output_type(0).elem));
  }
  if (fine) return TW_OK;
  const std::string_view text = x.string(bad);
  return call.fail("`%.*s` is no number", static_cast<int>(std::min<size_t>(text.size(), 60)),
                   text.data());
}

template <class T>
tw_status print_all(HostCall& call, const ArrayView& x) {
  char text[64];
  return write_strings(call, 0, x.dims, [&](int64_t i) {
    return print_number(x.as<T>()[static_cast<size_t>(i)], text);
  });
}

tw_status print(HostCall& call) {
  if (!call.need_array(0)) return call.status();
  const ArrayView x = call.array(0);
  switch (x.type.elem) {
    case ElemType::F32: return print_all<float>(call, x);
    case ElemType::F64: return print_all<double>(call, x);
    case ElemType::I8: return print_all<int8_t>(call, x);
    case ElemType::I16: return print_all<int16_t>(call, x);
    case ElemType::I32: return print_all<int32_t>(call, x);
    case ElemType::I64: return print_all<int64_t>(call, x);
    case ElemType::Bool:
    case ElemType::U8: return print_all<uint8_t>(call, x);
    case ElemType::U16: return print_all<uint16_t>(call, x);
    case ElemType::U32: return print_all<uint32_t>(call, x);
    case ElemType::U64: return print_all<uint64_t>(call, x);
    default: return call.fail("%s cannot be written as strings", name_of(x.type.elem));
  }
}

}  // namespace

std::span<const HostOp> string_ops() {
  static constexpr HostOp ops[] = {
      {"string_concat", concat},       {"string_equal", equal}, {"string_split", split},
      {"string_normalize", normalize}, {"string_match", match}, {"string_find", find},
      {"string_choose", choose},       {"string_join", join},   {"string_take", take},
      {"string_parse", parse},         {"string_print", print},
  };
  return ops;
}

}  // namespace tilewright::runtime
