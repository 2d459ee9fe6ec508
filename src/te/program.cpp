// SPDX-License-Identifier: Apache-2.0
#include "te/program.h"

#include <algorithm>
#include <unordered_set>

#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "te/bounds.h"
#include "te/compute.h"

namespace tilewright::te {
namespace {

/// Appends the stages behind `stage`, then itself.
void collect(const Stage& stage, std::unordered_set<Stage>& seen, std::vector<Stage>& order) {
  if (!seen.insert(stage).second) return;
  for (const Tensor& t : stage->reads) collect(t.stage(), seen, order);
  if (!stage->as<Placeholder>()) order.push_back(stage);
}

Tensor copy_of(const Tensor& t) {
  const Shape shape(t.shape().begin(), t.shape().end());
  return compute(str(t.name(), "_copy"), shape,
                 [&](const std::vector<Var>& axes) { return t.at({axes.begin(), axes.end()}); });
}

/// The value of an extent where every symbol is as small as it can be; nothing when it is not plain
/// arithmetic.
std::optional<int64_t> least_sizes(const ir::Expr& extent, const std::vector<ir::Symbol>& symbols) {
  ir::VarMap least;
  for (const ir::Symbol& s : symbols) least[s.var] = ir::ceil_div(s.min, s.divisor) * s.divisor;
  return ir::const_int(ir::rewrite(
      extent, [&](const ir::VarNode& v, auto&) -> ir::Expr { return least.at(ir::Var::of(v)); },
      [&](const ir::Binary& b, auto& self) -> ir::Expr {
        return ir::binary(b.op, self(b.a), self(b.b));
      }));
}

/// Checks that every stage mentions only what is known where it stands.
class Checker {
 public:
  Checker(const Program& program) : program_(program) {
    for (const ir::Symbol& s : program.symbols) symbols_.insert(s.var);
    for (const Tensor& t : program.inputs) placeholders_.insert(t.stage());
  }

  void shape(const Tensor& t) {
    for (const ir::Expr& extent : t.shape()) this->extent(t.name(), extent, t.stage()->span);
  }

  void stage(const Stage& stage) {
    if (++stages_ > kMaxStages)
      throw Error({.code = "te.program.size",
                   .at = stage->span,
                   .message = str("`", program_.name, "` has more than ", kMaxStages, " stages"),
                   .help = "make several programs of it"});
    for (const Tensor& t : stage->reads) placeholder(stage, t);
    if (const Compute* c = stage->as<Compute>()) compute(stage, *c);
    if (const Scan* s = stage->as<Scan>()) scan(stage, *s);
  }

 private:
  void placeholder(const Stage& reader, const Tensor& t) {
    if (!t.stage()->as<Placeholder>() || placeholders_.contains(t.stage())) return;
    throw Error({.code = "te.program.input",
                 .at = reader->span,
                 .message = str("`", reader->name(), "` reads `", t.name(),
                                "`, which is no input of `", program_.name, "`"),
                 .help = "list it among the inputs; the state of a scan can be read only by the "
                         "scan's own step"});
  }

  void compute(const Stage& stage, const Compute& c) {
    std::unordered_set<ir::Var> own;
    for (const auto* axes : {&c.axes, &c.reduce_axes}) {
      for (const Iter& axis : *axes) {
        extent(stage->name(), axis.extent, stage->span);
        own.insert(axis.var);
      }
    }
    for (const ir::Expr& value : c.values)
      for (const ir::Var& v : ir::vars_of(value))
        if (!own.contains(v) && !symbols_.contains(v) && !times_.contains(v))
          refuse_foreign(stage, v);
  }

  void scan(const Stage& stage, const Scan& s) {
    extent(stage->name(), s.time.extent, stage->span);
    times_.insert(s.time.var);
    for (const Tensor& t : s.prev) {
      shape(t);
      placeholders_.insert(t.stage());
    }
    for (const Stage& inner : s.body) this->stage(inner);
    for (const Tensor& t : s.prev) placeholders_.erase(t.stage());
    times_.erase(s.time.var);
  }

  void extent(const std::string& name, const ir::Expr& extent, const Span& at) {
    for (const ir::Var& v : ir::vars_of(extent))
      if (!symbols_.contains(v))
        throw Error(
            {.code = "te.shape.symbol",
             .at = at,
             .message = str("the extent `", ir::print(extent), "` of `", name, "` mentions `",
                            v.name(), "`, which is no symbol of `", program_.name, "`"),
             .help = "list it among the program's symbols"});
    if (const auto least = least_sizes(extent, program_.symbols); least && *least < 0)
      throw Error({.code = "te.shape.negative",
                   .at = at,
                   .message = str("the extent `", ir::print(extent), "` of `", name, "` is ",
                                  *least, " for the least values of the symbols"),
                   .help = "raise the symbols' least values, or use max(…, 0)"});
  }

  [[noreturn]] void refuse_foreign(const Stage& stage, const ir::Var& v) const {
    throw Error(
        {.code = "te.axis.foreign",
         .at = stage->span,
         .message =
             str("`", stage->name(), "` mentions `", v.name(), "`, which is none of its axes"),
         .notes = {"a stage may mention its own axes, the axes that it reduces over, the "
                   "time of the scan around it, and symbols"},
         .help = str("reduce over `", v.name(), "`, or list it among the program's symbols")});
  }

  const Program& program_;
  std::unordered_set<ir::Var> symbols_, times_;
  std::unordered_set<Stage> placeholders_;
  int stages_ = 0;
};

void check_symbols(const Program& p, const Span& span) {
  std::unordered_set<ir::Var> seen;
  for (const ir::Symbol& s : p.symbols) {
    if (!seen.insert(s.var).second)
      throw Error({.code = "te.symbol.twice",
                   .at = span,
                   .message = str("`", s.var.name(), "` is listed twice among the symbols of `",
                                  p.name, "`"),
                   .help = "list each symbol once"});
    if (s.max < s.min || s.divisor < 1)
      throw Error({.code = "te.symbol.range",
                   .at = span,
                   .message = str("symbol `", s.var.name(), "` runs from ", s.min, " to ", s.max,
                                  " in multiples of ", s.divisor),
                   .help = "a symbol has min <= max and a divisor of 1 or more"});
  }
}

void check_inputs(const Program& p, const Span& span) {
  std::unordered_set<Stage> seen;
  for (const Tensor& t : p.inputs) {
    if (!t.stage()->as<Placeholder>())
      throw Error({.code = "te.program.input",
                   .at = span,
                   .message = str("`", t.name(), "` is computed, not an input of `", p.name, "`"),
                   .help = "inputs are placeholders"});
    if (!seen.insert(t.stage()).second)
      throw Error(
          {.code = "te.program.input",
           .at = span,
           .message = str("`", t.name(), "` is listed twice among the inputs of `", p.name, "`"),
           .help = "list each input once"});
  }
}

}  // namespace

Program program(std::string name, std::vector<Tensor> inputs, std::vector<Tensor> outputs,
                std::vector<ir::Symbol> symbols, const Span& span) {
  Program p{.name = std::move(name), .symbols = std::move(symbols), .inputs = std::move(inputs)};
  if (outputs.empty())
    throw Error({.code = "te.program.outputs",
                 .at = span,
                 .message = str("`", p.name, "` has no outputs"),
                 .help = "give the tensors it is to compute"});
  check_symbols(p, span);
  check_inputs(p, span);
  for (const Tensor& t : outputs) {
    const bool listed = std::find(p.outputs.begin(), p.outputs.end(), t) != p.outputs.end();
    p.outputs.push_back(listed || t.stage()->as<Placeholder>() ? copy_of(t) : t);
  }
  std::unordered_set<Stage> seen;
  for (const Tensor& t : p.outputs) collect(t.stage(), seen, p.stages);

  Checker checker(p);
  for (const Tensor& t : p.inputs) checker.shape(t);
  for (const Stage& stage : p.stages) checker.stage(stage);
  require_reads_inside(p);
  return p;
}

}  // namespace tilewright::te
