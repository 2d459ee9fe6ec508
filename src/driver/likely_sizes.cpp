// SPDX-License-Identifier: Apache-2.0
#include "driver/likely_sizes.h"

#include <algorithm>
#include <cctype>

#include "ir/rewrite.h"

namespace tilewright::driver {
namespace {

using namespace graph;

using Sizes = std::vector<int64_t>;

const Sizes kBatches = {1, 4, 16}, kPixels = {224, 320, 75}, kLengths = {128, 77, 300};

/// What people call a batch or a length; nothing for other names.
Sizes of_name(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has("batch") || name == "n" || name == "b") return kBatches;
  for (const char* part : {"len", "seq", "time", "frame", "token", "past", "step"})
    if (has(part)) return kLengths;
  return {};
}

/// The first axis of several is a batch; images have their places last; the rest are lengths.
Sizes of_axis(size_t rank, int axis) {
  if (axis == 0 && rank > 1) return kBatches;
  return axis > 1 && rank > 3 ? kPixels : kLengths;
}

/// What the formula gives for each of the sizes of its symbols.
Sizes of_formula(const Graph& graph, const Dim& formula) {
  std::vector<ir::VarMap> values;
  for (const ir::Var& var : ir::vars_of(formula)) {
    const auto info = std::ranges::find_if(
        graph.symbols, [&](const SymbolInfo& s) { return s.symbol.var == var; });
    if (info == graph.symbols.end()) return {};
    const Sizes sizes = likely_sizes(graph, info->symbol);
    if (sizes.empty()) return {};
    values.resize(std::max(values.size(), sizes.size()));
    for (size_t i = 0; i < values.size(); ++i)
      values[i][var] = ir::int_imm(ir::Elem::I64, sizes[std::min(i, sizes.size() - 1)]);
  }
  Sizes out;
  for (const ir::VarMap& known : values)
    if (const auto n = ir::const_int(simplified(ir::substitute(formula, known)))) out.push_back(*n);
  return out;
}

}  // namespace

Sizes likely_sizes(const Graph& graph, const ir::Symbol& symbol) {
  if (!symbol.likely.empty()) return symbol.likely;
  const auto info = std::ranges::find_if(
      graph.symbols, [&](const SymbolInfo& s) { return s.symbol.var == symbol.var; });
  if (info == graph.symbols.end()) return {};
  Sizes out;
  if (const FromInput* in = std::get_if<FromInput>(&info->source)) {
    out = of_name(symbol.var.name());
    if (out.empty()) out = of_axis(graph.type(in->input).tensor()->shape.size(), in->axis);
  }
  if (const FromFormula* f = std::get_if<FromFormula>(&info->source))
    out = of_formula(graph, f->formula);
  for (int64_t& n : out)
    n = std::clamp(n / symbol.divisor * symbol.divisor, symbol.min, symbol.max);
  return out;
}

}  // namespace tilewright::driver
