// SPDX-License-Identifier: Apache-2.0
#include "te/tensor.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "support/str.h"
#include "te/expr.h"

namespace tilewright::te {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 47;  // ir/README.md §2

}  // namespace

Stage make_stage(StageNode node) {
  for (const Tensor& t : node.reads) node.depth = std::max(node.depth, t.stage()->depth + 1);
  if (node.depth > kMaxStages)
    throw Error({.code = "te.program.size",
                 .at = node.span,
                 .message = str("`", node.name(), "` stands behind more than ", kMaxStages,
                                " stages, one after another"),
                 .help = "make several programs of it"});
  return Stage(std::make_shared<const StageNode>(std::move(node)));
}

void add_once(std::vector<Tensor>& all, const Tensor& t) {
  if (std::find(all.begin(), all.end(), t) == all.end()) all.push_back(t);
}

Tensor placeholder(std::string name, ir::Elem elem, const Shape& shape, const Span& span) {
  std::vector<ir::Expr> extents = checked_shape(name, elem, shape, span);
  const ir::Buffer buffer =
      ir::make_buffer(std::move(name), elem, std::move(extents), {}, nullptr, 0, span);
  return Tensor(make_stage({.outputs = {buffer}, .def = Placeholder{}, .span = span}), 0);
}

ir::Expr checked_extent(const std::string& what, const Expr& extent, const Span& span) {
  const ir::Expr e = extent.ir();
  if (!extent.reads().empty() || !extent.reductions().empty())
    throw Error({.code = "te.shape.data",
                 .at = span,
                 .message = str(what, " depends on the elements of a tensor"),
                 .help = "make the size a symbol of the program"});
  if (e.type() != ir::kIndex)
    throw Error({.code = "te.shape.type",
                 .at = span,
                 .message = str(what, " is ", print(e.type()), ", not an integer size"),
                 .help = "write an int, a symbol, or i64 arithmetic on them"});
  if (const auto value = ir::const_int(e); value && *value < 0)
    throw Error({.code = "te.shape.negative",
                 .at = span,
                 .message = str(what, " is ", *value),
                 .help = "a size is 0 or more"});
  return e;
}

std::vector<ir::Expr> checked_shape(const std::string& name, ir::Elem elem, const Shape& shape,
                                    const Span& span) {
  std::vector<ir::Expr> out;
  for (size_t d = 0; d < shape.size(); ++d)
    out.push_back(checked_extent(str("extent ", d, " of `", name, "`"), shape[d], span));

  // A zero anywhere makes the tensor empty, however large the rest.
  if (std::any_of(out.begin(), out.end(), [](const ir::Expr& e) { return ir::is_const(e, 0); }))
    return out;
  const int64_t limit = kMaxBytes / ir::bits(elem) * 8;
  int64_t elements = 1;
  for (const ir::Expr& e : out) {
    const int64_t extent = ir::const_int(e).value_or(1);
    if (extent > limit / elements)
      throw Error({.code = "te.shape.overflow",
                   .at = span,
                   .message = str("`", name, "` is too large"),
                   .notes = {"a tensor has at most 2^47 bytes"},
                   .help = "use smaller extents"});
    elements *= extent;
  }
  return out;
}

Expr Tensor::at(const std::vector<Expr>& indices) const {
  if (static_cast<int>(indices.size()) != rank())
    throw Error({.code = "te.index.rank",
                 .message = str("`", name(), "` has ", rank(), " dimensions and is read with ",
                                indices.size(), indices.size() == 1 ? " index" : " indices"),
                 .help = "give one index per dimension"});
  std::vector<ir::Expr> at;
  for (size_t d = 0; d < indices.size(); ++d) {
    at.push_back(indices[d].ir());
    if (at[d].type() != ir::kIndex)
      throw Error(
          {.code = "te.index.type",
           .message = str("index ", d, " of `", name(), "` is ", print(at[d].type()), ", not i64"),
           .help = "convert it: cast(I64, index)"});
  }
  const ir::Expr element = ir::load(buffer(), std::move(at));
  std::vector<Expr> parts = indices;
  parts.push_back(Expr(element, {*this}));
  return Expr::combine(element, parts);
}

}  // namespace tilewright::te
