// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <cstdlib>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>

#include "arith/context.h"
#include "error.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

[[noreturn]] void refuse(const std::string& message,
                         const std::string& help = "give arrays as the program declares them") {
  refuse_value("python.kernel.arguments", message, help);
}

std::string print(const std::vector<int64_t>& shape) {
  std::string out;
  for (const int64_t n : shape) out += str(out.empty() ? "" : ", ", n);
  return str("[", out, "]");
}

std::string print(const ir::Buffer& buffer) {
  std::string out;
  for (const ir::Expr& e : buffer->shape) out += str(out.empty() ? "" : ", ", ir::print(e));
  return str("`", buffer->name, "`: ", ir::name(buffer->elem), "[", out, "]");
}

/// The values of the symbols: as given, else the first dimension that is just the symbol.
class Symbols {
 public:
  Symbols(const ir::LoopFunc& func, const std::map<std::string, int64_t>& given) : func_(func) {
    for (const auto& [name, value] : given) {
      bool found = false;
      for (const ir::Symbol& s : func.symbols)
        if (s.var.name() == name) found = values_.emplace(s.var, value).second;
      if (!found) refuse(str("`", func.name, "` has no symbol `", name, "`"));
    }
  }

  void learn(const ir::Expr& extent, int64_t value) {
    for (const ir::Symbol& s : func_.symbols)
      if (s.var == extent) values_.emplace(s.var, value);
  }

  std::vector<int64_t> all() const {
    std::vector<int64_t> out;
    for (const ir::Symbol& s : func_.symbols) {
      const auto found = values_.find(s.var);
      if (found == values_.end())
        refuse(str("no shape tells `", s.var.name(), "`"),
               str("give it by name, ", s.var.name(), "=…"));
      const int64_t value = found->second;
      if (value < s.min || value > s.max || value % s.divisor != 0)
        refuse(str("`", s.var.name(), "` is ", value, "; `", func_.name, "` is made for ", s.min,
                   "..", s.max, s.divisor > 1 ? str(" in multiples of ", s.divisor) : ""));
      out.push_back(value);
    }
    return out;
  }

  std::vector<int64_t> shape(const ir::Buffer& buffer) const {
    ir::VarMap values;
    for (const auto& [var, value] : values_) values[var] = value;
    std::vector<int64_t> out;
    for (const ir::Expr& extent : buffer->shape) {
      const auto value = ir::const_int(arith::Context().simplify(ir::substitute(extent, values)));
      require(value.has_value(), "an extent that the symbols do not tell");
      out.push_back(*value);
    }
    return out;
  }

 private:
  const ir::LoopFunc& func_;
  std::unordered_map<ir::Var, int64_t> values_;
};

}  // namespace

Arguments arguments_of(const ir::LoopFunc& func, const nb::list& inputs,
                       const std::map<std::string, int64_t>& given) {
  Arguments out;
  std::vector<std::vector<int64_t>> shapes;  // of the inputs
  std::vector<const ir::Param*> read;
  for (const ir::Param& p : func.params)
    if (p.access != ir::Access::Out) read.push_back(&p);
  if (inputs.size() != read.size())
    refuse(str("`", func.name, "` takes ", read.size(), " arrays, ", inputs.size(), " were given"));

  Symbols symbols(func, given);
  for (size_t i = 0; i < read.size(); ++i) {
    const ir::Buffer& buffer = read[i]->buffer;
    const nb::tuple parts = nb::cast<nb::tuple>(inputs[i]);
    const auto elem = nb::cast<std::string>(parts[0]);
    shapes.push_back(nb::cast<std::vector<int64_t>>(parts[1]));
    if (elem != ir::name(buffer->elem) || shapes[i].size() != buffer->shape.size())
      refuse(str(print(buffer), " was given ", elem, print(shapes[i])));
    out.inputs.push_back(nb::cast<Bytes>(parts[2]));
    for (size_t d = 0; d < shapes[i].size(); ++d) symbols.learn(buffer->shape[d], shapes[i][d]);
  }
  out.symbols = symbols.all();
  for (const ir::Param& p : func.params) out.shapes.push_back(symbols.shape(p.buffer));
  for (size_t i = 0, in = 0; i < func.params.size(); ++i) {
    if (func.params[i].access == ir::Access::Out) continue;
    if (shapes[in] != out.shapes[i])
      refuse(str(print(func.params[i].buffer), " was given the shape ", print(shapes[in]),
                 ", it must be ", print(out.shapes[i])));
    ++in;
  }
  return out;
}

Bytes new_bytes(int64_t size) {
  constexpr size_t kAlign = 64;
  const size_t bytes = (static_cast<size_t>(size) / kAlign + 1) * kAlign;
  void* memory = std::aligned_alloc(kAlign, bytes);
  if (!memory) throw std::bad_alloc();
  const nb::capsule owner(memory, [](void* p) noexcept { std::free(p); });
  return Bytes(static_cast<uint8_t*>(memory), {static_cast<size_t>(size)}, owner);
}

nb::object tensor_object(ir::Elem elem, const std::vector<int64_t>& shape, const Bytes& bytes) {
  return nb::make_tuple(std::string(ir::name(elem)), shape, nb::cast(bytes));
}

}  // namespace tilewright::python
