// SPDX-License-Identifier: Apache-2.0
#include "frontend/npy.h"

#include <algorithm>
#include <cstring>

#include "frontend/npy_header.h"
#include "frontend/raw_tensor.h"
#include "support/diagnostic.h"
#include "support/str.h"
#include "support/utf8.h"

namespace tilewright::frontend {
namespace {

using graph::Constant;
using ir::Elem;

struct NumpyType {
  char kind;
  int64_t size;
  Elem elem;
};
constexpr NumpyType kTypes[] = {
    {'b', 1, Elem::Bool}, {'i', 1, Elem::I8},  {'i', 2, Elem::I16}, {'i', 4, Elem::I32},
    {'i', 8, Elem::I64},  {'u', 1, Elem::U8},  {'u', 2, Elem::U16}, {'u', 4, Elem::U32},
    {'u', 8, Elem::U64},  {'f', 2, Elem::F16}, {'f', 4, Elem::F32}, {'f', 8, Elem::F64},
};

[[noreturn]] void refuse(std::string_view code, const std::string& what, const std::string& fact,
                         std::string help) {
  throw Error({.code = code,
               .at = {},
               .message = str(what, ": ", fact),
               .notes = {},
               .help = std::move(help)});
}

int64_t bytes_of_element(const NpyHeader& h) { return h.kind == 'U' ? 4 * h.size : h.size; }

/// The elements in row-major order, little-endian.
///   (2, 3) in Fortran order: 1 4 2 5 3 6   ->   1 2 3 4 5 6
std::vector<std::byte> reordered(const NpyHeader& h, Bytes data, int64_t count) {
  const auto size = static_cast<size_t>(bytes_of_element(h));
  const size_t rank = h.shape.size();
  std::vector<size_t> stride(rank);
  size_t step = size;
  for (size_t i = 0; i < rank; ++i) {
    const size_t d = h.fortran ? i : rank - 1 - i;
    stride[d] = step;
    step *= static_cast<size_t>(h.shape[d]);
  }
  std::vector<std::byte> out(data.size());
  std::vector<int64_t> at(rank);
  size_t from = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out.data() + static_cast<size_t>(i) * size, data.data() + from, size);
    for (size_t d = rank; d-- > 0;) {
      from += stride[d];
      if (++at[d] < h.shape[d]) break;
      from -= stride[d] * static_cast<size_t>(h.shape[d]);
      at[d] = 0;
    }
  }
  const size_t unit = h.kind == 'U' ? 4 : size;
  if (h.order == '>' && h.kind != 'S' && h.kind != 'V' && unit > 1)
    for (size_t i = 0; i < out.size(); i += unit)
      std::reverse(out.begin() + static_cast<ptrdiff_t>(i),
                   out.begin() + static_cast<ptrdiff_t>(i + unit));
  return out;
}

Constant strings(const NpyHeader& h, Bytes data, int64_t count, const std::string& what) {
  std::vector<std::string> out;
  const auto size = static_cast<size_t>(bytes_of_element(h));
  for (int64_t i = 0; i < count; ++i) {
    const Bytes element = data.subspan(static_cast<size_t>(i) * size, size);
    std::string text;
    if (h.kind == 'S') {
      text.assign(reinterpret_cast<const char*>(element.data()), element.size());
    } else {
      for (size_t c = 0; c < size; c += 4) {
        uint32_t character = 0;
        std::memcpy(&character, element.data() + c, 4);
        if (!append_utf8(text, character))
          refuse("frontend.npy.text", what, "a text holds what is no character",
                 "the file may be damaged: write it again");
      }
    }
    text.erase(text.find_last_not_of('\0') + 1);  // NumPy fills up with zeros
    out.push_back(std::move(text));
  }
  return graph::string_constant(h.shape, std::move(out));
}

/// Integers of a byte each, as a type that shares bytes.
Constant packed(const NpyHeader& h, Bytes data, Elem elem, const std::string& what) {
  const auto bits = static_cast<size_t>(ir::bits(elem));
  std::vector<std::byte> out((data.size() * bits + 7) / 8);
  for (size_t i = 0; i < data.size(); ++i) {
    const auto byte = std::to_integer<uint8_t>(data[i]);
    const int64_t value = h.kind == 'u' ? int64_t{byte} : int64_t{static_cast<int8_t>(byte)};
    // ml_dtypes does not say what the other bits of a V1 are.
    if (h.kind != 'V' &&
        (value < ir::int_min(elem) || value > static_cast<int64_t>(ir::int_max(elem))))
      refuse("frontend.npy.value", what, str(value, " does not fit into ", ir::name(elem)),
             "use values that do");
    const unsigned low = byte & ((1u << bits) - 1);
    out[i * bits / 8] |= static_cast<std::byte>(low << (i * bits % 8));
  }
  return graph::make_constant(elem, h.shape, std::move(out));
}

Elem elem_of(const NpyHeader& h, std::optional<Elem> wanted, const std::string& what) {
  for (const NumpyType& t : kTypes)
    if (t.kind == h.kind && t.size == h.size) return t.elem;
  const std::string descr = str(h.kind, h.size == 0 ? "" : std::to_string(h.size));
  if (h.kind == 'V') {
    if (wanted && ir::bits(*wanted) == 8 * h.size) return *wanted;
    refuse("frontend.npy.type", what,
           str("its elements are ", h.size, " bytes without a type, ",
               wanted ? str("and ", ir::name(*wanted), " has another size")
                      : "and nothing says what they are"),
           "give the array the name of an input whose elements have this size");
  }
  refuse("frontend.npy.type", what, str("its elements have the type `", descr, "`"),
         h.kind == 'O' ? "an array of Python objects cannot be read: use .astype(str) or a number "
                         "type before saving"
                       : "use a number type, bool or text: convert with .astype before saving");
}

}  // namespace

Constant read_npy(Bytes file, const std::shared_ptr<const void>& owner, std::optional<Elem> wanted,
                  const std::string& what) {
  const NpyHeader h = read_npy_header(file, what);
  const int64_t count = checked_count(h.shape, what);
  const bool text = h.kind == 'S' || h.kind == 'U';
  const bool packs = wanted && ir::bits(*wanted) < 8 && h.size == 1 &&
                     (h.kind == 'i' || h.kind == 'u' || h.kind == 'V');
  const Elem elem = text || packs ? Elem::U8 : elem_of(h, wanted, what);
  Bytes data = file.subspan(h.data);
  const int64_t size = count * bytes_of_element(h);
  if (static_cast<int64_t>(data.size()) != size)
    refuse("frontend.npy.size", what,
           str("it has ", data.size(), " bytes of elements, its shape takes ", size),
           "the file may be cut off: write it again");
  std::shared_ptr<const void> keeper = owner;
  if (h.order == '>' || (h.fortran && h.shape.size() > 1)) {
    const auto copy = std::make_shared<const std::vector<std::byte>>(reordered(h, data, count));
    data = *copy;
    keeper = copy;
  }
  if (text) return strings(h, data, count, what);
  if (packs) return packed(h, data, *wanted, what);
  return raw_tensor(elem, h.shape, data, std::move(keeper), what);
}

NpyParts npy_parts(const Constant& tensor, const std::string& what) {
  NpyParts out{.header = {}, .elements = tensor, .converted = {}};
  std::string descr;
  if (tensor->is_strings) {
    std::vector<std::u32string> texts;
    size_t longest = 1;
    for (const std::string& text : tensor->strings) {
      const std::optional<std::u32string> wide = from_utf8(text);
      if (!wide)
        refuse("frontend.npy.text", what, "a text is not UTF-8, and NumPy has no place for it",
               "have the model give the bytes as numbers");
      longest = std::max(longest, wide->size());
      texts.push_back(*wide);
    }
    descr = str("<U", longest);
    for (const std::u32string& text : texts) {
      const auto bytes = std::as_bytes(std::span(text));
      out.converted.insert(out.converted.end(), bytes.begin(), bytes.end());
      out.converted.resize(out.converted.size() + 4 * (longest - text.size()));
    }
  } else if (ir::bits(tensor->elem) < 8) {
    descr = ir::is_float(tensor->elem) ? "|V1" : ir::is_signed(tensor->elem) ? "|i1" : "|u1";
    for (int64_t i = 0; i < tensor->count(); ++i)
      out.converted.push_back(static_cast<std::byte>(graph::int_at(*tensor, i)));
  } else {
    const size_t size = width_of(tensor->elem);
    descr = str("|V", size);
    for (const NumpyType& t : kTypes)
      if (t.elem == tensor->elem) descr = str(t.size == 1 ? '|' : '<', t.kind, t.size);
  }
  out.header = write_npy_header(descr, tensor->shape);
  return out;
}

}  // namespace tilewright::frontend
