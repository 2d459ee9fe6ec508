// SPDX-License-Identifier: Apache-2.0
// Where a model goes on in several ways, and which: by the rank of a value, by the length of a
// list, by the dimensions that turn out to be 1, by the branch of an `If`. ways.cpp makes what
// follows.
#include <algorithm>
#include <set>

#include "frontend/onnx/importer.h"
#include "graph/op_def.h"
#include "ops/all.h"
#include "ops/control.h"
#include "ops/ops.h"
#include "ops/view.h"
#include "support/str.h"

namespace tilewright::frontend::onnx {

using graph::Function;
using graph::kNoValue;
using graph::OnnxNode;
using graph::ValueId;

namespace {

constexpr int64_t kMaxRank = 6;  // of values of which nothing is known

bool has_attribute(const NodeProto& node, std::string_view name) {
  return std::ranges::any_of(node.attribute, [&](const auto& a) { return a.name == name; });
}

}  // namespace

/// The ways from the node on; nothing when there is one. No ways: the node has been made.
std::optional<Split> Importer::split_of(const NodeProto& node, Frame& frame) {
  if (ops::hands_on(node.op_type)) return std::nullopt;
  if (std::optional<Split> split = by_rank(node, frame)) return split;
  if (!domain_of(node.domain).empty() || functions_.called_by(node)) return std::nullopt;
  if (node.op_type == "Squeeze") return by_squeezed(node, frame);
  if (node.op_type == "If") return by_branch(node, frame);
  return std::nullopt;
}

/// A way for each rank of a value that the node uses:
///   x: f32[*]  ->  if rank_of(x) == 2 {ranked(x) {rank = 2}…} else {…}
std::optional<Split> Importer::by_rank(const NodeProto& node, const Frame& frame) {
  ValueId x = kNoValue;
  for (const std::string_view name : order_.uses_of(node))
    if (const ValueId id = known(name, frame);
        x == kNoValue && id != kNoValue && g_.type(id).unranked())
      x = id;
  if (x == kNoValue) return std::nullopt;
  Split out{.ways = {}, .about = x};
  std::vector<int64_t> ranks = ranks_of({x});
  if (ranks.empty())
    for (int64_t r = 0; r <= kMaxRank; ++r) ranks.push_back(r);
  for (const int64_t r : ranks)
    out.ways.push_back({.name = str("rank ", r),
                        .is_taken =
                            [this, x, r] {
                              const ValueId rank = g_.call(ops::op("rank_of"), {}, {x});
                              return g_.call(
                                  ops::op("equal"), {},
                                  {rank, g_.scalar(ir::Elem::I64, static_cast<double>(r))});
                            },
                        .begin =
                            [this, x, r](Frame& way) {
                              const graph::OpDef& op = ops::op("ranked");
                              way.better[x] = g_.call(op, op.read_attrs({{"rank", r}}), {x});
                            }});
  return out;
}

/// A way for each extent of a dimension that the node has refused to take without knowing it: the
/// length of a list of integers, or of the tuples of indices of a GatherND or ScatterND.
std::optional<Split> Importer::by_extent(const NodeProto& node, const Frame& frame) {
  const bool tuples = node.op_type == "GatherND" || node.op_type == "ScatterND",
             parts = node.op_type == "DFT" || node.op_type == "STFT";  // of complex numbers
  for (const std::string_view name : node.input) {
    const ValueId x = name.empty() ? kNoValue : known(name, frame);
    const graph::TensorType* t = x == kNoValue ? nullptr : g_.type(x).tensor();
    if (!t || t->rank() == 0 || t->strings || ir::is_float(t->elem) != parts) continue;
    if (ir::const_int(t->shape.back()) ||
        (tuples || parts ? name != node.input[parts ? 0 : 1] : t->rank() != 1))
      continue;
    Split out{.ways = {}, .about = x};
    const graph::Shape shape = t->shape;
    const bool pads = node.op_type == "Pad" && name == node.input[1];
    const int64_t each = pads ? 2 : 1;  // as many before as behind
    for (int64_t n = parts ? 1 : 0; n <= (parts ? 2 : each * kMaxRank); n += each) {
      graph::Shape wanted = shape;
      wanted.back() = graph::Dim(n);
      out.ways.push_back({.name = str("extent ", n),
                          .is_taken = [this, extent = shape.back(),
                                       n] { return ops::holds(g_, ir::eq(extent, graph::Dim(n))); },
                          .begin =
                              [this, x, wanted](Frame& way) {
                                way.better[x] = g_.call(ops::op("reshape"), ops::ReshapeAttrs{true},
                                                        {x, g_.formulas(wanted)});
                              }});
    }
    return out;
  }
  return std::nullopt;
}

/// A way for each number of dimensions that a Squeeze without axes may leave.
std::optional<Split> Importer::by_squeezed(const NodeProto& node, Frame& frame) {
  if (node.input.empty() || node.output.empty() || has_attribute(node, "axes") ||
      (node.input.size() > 1 && !node.input[1].empty()))
    return std::nullopt;
  const ValueId x = known(node.input[0], frame);
  if (x == kNoValue || !g_.type(x).tensor()) return std::nullopt;
  const auto [least, most] = ops::squeezed_ranks(g_, x);
  if (least == most) return std::nullopt;
  Split out;
  for (int rank = most; rank >= least; --rank)
    out.ways.push_back({.name = str("rank ", rank),
                        .is_taken = [this, x, rank] { return ops::squeezes_to(g_, x, rank); },
                        .begin =
                            [this, x, rank, &node](Frame& way) {
                              Subgraphs none;
                              const OnnxNode read = this->read(node, way, none);
                              g_.output(read, ops::squeezed(g_, x, rank));
                              add_results(node, read, g_.take_results(), way);
                            }});
  return out;
}

/// Is it about shapes that do not fit each other?
bool is_about_shapes(const Error& e) {
  const std::string_view code = e.diagnostic.code;
  return code.starts_with("graph.shape.") || code.starts_with("graph.check.");
}

/// A way for each branch of an `If`, where what they give differs in rank.
std::optional<Split> Importer::by_branch(const NodeProto& node, Frame& frame) {
  Subgraphs subgraphs;
  const OnnxNode read = this->read(node, frame, subgraphs);
  const ValueId condition = read.need(0);
  if (const graph::ConstantNode* c = g_.constant_of(condition); c && c->count() == 1)
    return std::nullopt;
  g_.set_origin(read.origin);
  std::vector<Function> bodies;
  std::optional<Error> problem;
  bool works = true;  // the condition with which there is a meaning, where one branch has none
  for (const bool yes : {true, false}) {
    const graph::Builder::Checkpoint before = g_.checkpoint();
    try {
      bodies.push_back(read.attr_graph(yes ? "then_branch" : "else_branch").build(g_, {}));
    } catch (const Error& e) {
      if (problem || !is_about_shapes(e)) throw;
      problem.emplace(e);
      works = !yes;
      g_.rollback(before);
      g_.set_origin(read.origin);
    }
  }
  // Models that serve several sizes choose by an input: a branch for others than those that were
  // asked for is none that a run may take.
  if (problem) {
    ops::require_condition(g_, condition, works, problem->diagnostic.message);
    g_.outputs(read, g_.splice(std::move(bodies[0])));
    add_results(node, read, g_.take_results(), frame);
    return Split{};
  }
  if (!ops::ranks_differ(g_, bodies[0], bodies[1])) {
    const size_t results = bodies[0].outputs.size();
    g_.outputs(read, g_.calls(ops::if_op(), {}, {condition}, results, std::move(bodies)));
    add_results(node, read, g_.take_results(), frame);
    return Split{};
  }
  Split out;
  for (const bool yes : {true, false}) {
    const auto body = std::make_shared<Function>(std::move(bodies[yes ? 0 : 1]));
    out.ways.push_back(
        {.name = yes ? "then" : "else",
         .is_taken = [this, condition,
                      yes] { return yes ? condition : g_.call(ops::op("not"), {}, {condition}); },
         .begin =
             [this, condition, yes, body, outputs = read.outputs, origin = read.origin,
              &node](Frame& way) {
               ops::require_condition(g_, condition, yes);
               OnnxNode same;
               same.outputs = outputs;
               same.origin = origin;
               g_.outputs(same, g_.splice(std::move(*body)));
               add_results(node, same, g_.take_results(), way);
             }});
  }
  return out;
}

/// The ranks that one of the values can have; none when one may have any.
std::vector<int64_t> Importer::ranks_of(const std::vector<ValueId>& values) const {
  std::set<int64_t> out;
  for (const ValueId id : values) {
    if (const graph::TensorType* t = g_.type(id).tensor()) {
      out.insert(t->rank());
      continue;
    }
    const auto known = ranks_.find(id);
    if (known == ranks_.end()) return {};
    out.insert(known->second.begin(), known->second.end());
  }
  return {out.begin(), out.end()};
}

}  // namespace tilewright::frontend::onnx
