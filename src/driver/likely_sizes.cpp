// SPDX-License-Identifier: Apache-2.0
#include "driver/likely_sizes.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "ir/evaluate.h"
#include "ir/rewrite.h"

namespace tilewright::driver {
namespace {

using namespace graph;

using Sizes = std::vector<int64_t>;

const Sizes kBatches = {1, 4, 16}, kPixels = {224, 320, 75}, kLengths = {128, 77, 300},
            kPictures = {16, 8, 32};  // of a film

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

/// The likely sizes of an input's dimension, as far as its name and place tell.
Sizes of_input(const Graph& graph, const ir::Symbol& symbol, const FromInput& in) {
  const size_t rank = graph.type(in.input).tensor()->shape.size();
  if (rank == 5 && in.axis == 2) return kPictures;
  const Sizes named = of_name(symbol.var.name());
  return named.empty() ? of_axis(rank, in.axis) : named;
}

/// Of the sizes that follow from a dimension of `n`, the least.
int64_t least_of_what_follows(const Graph& graph, const ir::Symbol& symbol, int64_t n) {
  ir::Values values;
  std::unordered_set<ir::Var> follow{symbol.var};
  int64_t least = INT64_MAX;
  for (const SymbolInfo& s : graph.symbols) {
    if (const FromInput* in = std::get_if<FromInput>(&s.source)) {
      const bool own = s.symbol.var == symbol.var;
      values[s.symbol.var.as<ir::VarNode>()] = own ? n : of_input(graph, s.symbol, *in).front();
    } else if (const FromFormula* f = std::get_if<FromFormula>(&s.source)) {
      const std::optional<int64_t> value = ir::evaluate(f->formula, values);
      if (!value) continue;
      values[s.symbol.var.as<ir::VarNode>()] = *value;
      const auto vars = ir::vars_of(f->formula);
      if (std::ranges::none_of(vars, [&](const ir::Var& v) { return follow.contains(v); }))
        continue;
      follow.insert(s.symbol.var);
      least = std::min(least, *value);
    }
  }
  return least;
}

/// At least `n`, and large enough for two of each thing that follows: a sound that is cut into
/// windows of 256 samples has more than 128.
int64_t enough(const Graph& graph, const ir::Symbol& symbol, int64_t n) {
  constexpr int64_t kMost = int64_t{1} << 16;
  if (least_of_what_follows(graph, symbol, n) >= 2) return n;
  for (int64_t more = n; more < kMost; more *= 2)
    if (least_of_what_follows(graph, symbol, more) >= 2) return more;
  return n;
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
    out = of_input(graph, symbol, *in);
    if (out != kBatches)
      for (int64_t& n : out) n = enough(graph, symbol, n);
  }
  if (const FromFormula* f = std::get_if<FromFormula>(&info->source))
    out = of_formula(graph, f->formula);
  for (int64_t& n : out)
    n = std::clamp(n / symbol.divisor * symbol.divisor, symbol.min, symbol.max);
  return out;
}

}  // namespace tilewright::driver
