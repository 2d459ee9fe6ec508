// SPDX-License-Identifier: Apache-2.0
#include "frontend/npy_header.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::frontend {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

/// Reads the literal of a Python dictionary that NumPy writes.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& what) : rest_(text), what_(what) {}

  void read(NpyHeader& out) {
    expect('{');
    while (!take('}')) {
      const std::string_view key = text();
      expect(':');
      if (key == "descr")
        descr(out);
      else if (key == "fortran_order")
        out.fortran = boolean();
      else if (key == "shape")
        out.shape = shape();
      else
        refuse(str("the unknown word `", key, "`"));
      if (!take(',') && !rest_.starts_with('}')) refuse("no comma between two words");
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& fact) const {
    throw Error({.code = "frontend.npy.header",
                 .at = {},
                 .message = str(what_, ": its header has ", fact),
                 .notes = {},
                 .help = "write the array with numpy.save or numpy.savez"});
  }
  bool take(char c) {
    while (rest_.starts_with(' ') || rest_.starts_with('\n')) rest_.remove_prefix(1);
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(str("no `", c, "` where one should be"));
  }
  std::string_view text() {
    const char quote = take('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos) refuse("a text without an end");
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return out;
  }
  bool boolean() {
    take(' ');
    for (const auto& [word, value] : {std::pair{"True", true}, {"False", false}})
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(std::strlen(word));
        return value;
      }
    refuse("neither True nor False for `fortran_order`");
  }
  int64_t number() {
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) refuse("no number where one should be");
    rest_.remove_prefix(static_cast<size_t>(stop - rest_.data()));
    return value;
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> out;
    expect('(');
    while (!take(')')) {
      out.push_back(number());
      if (!take(',') && !rest_.starts_with(')')) refuse("no comma between two sizes");
      while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    }
    return out;
  }
  void descr(NpyHeader& out) {
    if (take('[')) refuse("fields of a structure");
    std::string_view type = text();
    if (!type.empty() && std::string_view("<>|=").find(type[0]) != std::string_view::npos) {
      out.order = type[0] == '=' ? '<' : type[0];
      type.remove_prefix(1);
    }
    if (type.empty()) refuse("no element type");
    out.kind = type[0];
    type.remove_prefix(1);
    out.size = 0;
    const auto [stop, error] = std::from_chars(type.data(), type.data() + type.size(), out.size);
    if (out.kind != 'O' && (error != std::errc() || stop != type.data() + type.size() ||
                            out.size < 0 || out.size > (1 << 20)))
      refuse(str("the unknown element type `", out.kind, type, "`"));
  }

  std::string_view rest_;
  const std::string& what_;
};

}  // namespace

NpyHeader read_npy_header(Bytes file, const std::string& what) {
  const std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  const auto refuse = [&](const char* fact) {
    throw Error({.code = "frontend.npy.header",
                 .at = {},
                 .message = str(what, ": ", fact),
                 .notes = {},
                 .help = "write the array with numpy.save or numpy.savez"});
  };
  if (!all.starts_with(kMagic) || all.size() < 12) refuse("not an array of NumPy");
  const bool is_short = all[6] == 1;  // version 1 has a length of 16 bits, later ones of 32
  const size_t start = is_short ? 10 : 12;
  uint32_t length = 0;
  std::memcpy(&length, all.data() + 8, is_short ? 2 : 4);
  if (all[6] < 1 || all[6] > 3 || length > all.size() - start)
    refuse("its header is cut off or of an unknown version");
  NpyHeader out;
  HeaderText(all.substr(start, length), what).read(out);
  out.data = start + length;
  return out;
}

std::string write_npy_header(const std::string& descr, const std::vector<int64_t>& shape) {
  std::string sizes;
  for (const int64_t d : shape) sizes += str(d, ",");
  std::string text =
      str("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", sizes, "), }");
  const size_t used = 10 + text.size() + 1;
  text.append((64 - used % 64) % 64, ' ');  // the elements start at a multiple of 64
  text += '\n';
  const auto length = static_cast<uint16_t>(text.size());
  std::string out(kMagic);
  out += std::string_view("\x01\x00", 2);
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  return out + text;
}

}  // namespace tilewright::frontend
