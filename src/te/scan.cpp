// SPDX-License-Identifier: Apache-2.0
#include "te/scan.h"

#include <algorithm>
#include <unordered_map>

#include "ir/equal.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::te {
namespace {

/// Finds what one step computes: the stages that depend on the time or on the previous state.
class Body {
 public:
  Body(const ScanFrame& frame) : frame_(frame) {}

  std::vector<Stage> stages;  // in order
  std::vector<Tensor> reads;  // tensors from outside

  void add(const Tensor& t) {
    if (!depends(t.stage())) {
      add_once(reads, t);
      return;
    }
    if (std::find(frame_.prev.begin(), frame_.prev.end(), t) != frame_.prev.end()) return;
    if (std::find(stages.begin(), stages.end(), t.stage()) != stages.end()) return;
    for (const Tensor& read : t.stage()->reads) add(read);
    stages.push_back(t.stage());
  }

 private:
  bool depends(const Stage& stage) {
    const auto known = known_.find(stage);
    if (known != known_.end()) return known->second;
    const auto reads_state = [&](const Tensor& t) { return depends(t.stage()); };
    bool result = std::any_of(stage->reads.begin(), stage->reads.end(), reads_state);
    if (stage->as<Placeholder>())
      result = std::any_of(frame_.prev.begin(), frame_.prev.end(),
                           [&](const Tensor& t) { return t.stage() == stage; });
    if (const Compute* c = stage->as<Compute>())
      result = result || std::any_of(c->values.begin(), c->values.end(), [&](const ir::Expr& e) {
                 return ir::uses(e, frame_.time.var);
               });
    if (const Scan* s = stage->as<Scan>())
      result = result || std::any_of(s->body.begin(), s->body.end(),
                                     [&](const Stage& inner) { return depends(inner); });
    return known_[stage] = result;
  }

  const ScanFrame& frame_;
  std::unordered_map<Stage, bool> known_;
};

void check_state(const Tensor& init, const Tensor& next, const Span& span) {
  bool same = init.elem() == next.elem() && init.rank() == next.rank();
  for (size_t d = 0; same && d < init.shape().size(); ++d)
    same = ir::equal(init.shape()[d], next.shape()[d]);
  if (!same)
    throw Error(
        {.code = "te.scan.state",
         .at = span,
         .message = str("the step makes `", next.name(), "` of another type or shape than `",
                        init.name(), "`, the state it starts from"),
         .help = "every state keeps its element type and shape"});
}

Shape over_time(const ir::Expr& steps, const std::vector<ir::Expr>& shape) {
  Shape out{steps};
  out.insert(out.end(), shape.begin(), shape.end());
  return out;
}

}  // namespace

ScanFrame begin_scan(const Names& names, const Expr& steps, const std::vector<Tensor>& init) {
  const std::string what = str("the number of steps of scan `", names.first(), "`");
  ScanFrame frame{.time = {ir::Var("t"), checked_extent(what, steps, {})}};
  for (const Tensor& t : init)
    frame.prev.push_back(
        placeholder(str(t.name(), "_prev"), t.elem(), Shape(t.shape().begin(), t.shape().end())));
  return frame;
}

std::vector<Tensor> end_scan(const Names& names, const ScanFrame& frame,
                             const std::vector<Tensor>& init, const std::vector<Tensor>& results,
                             const Span& span) {
  if (init.empty())
    throw Error({.code = "te.scan.state",
                 .at = span,
                 .message = str("scan `", names.first(), "` has no state"),
                 .help = "give the state before the first step; without one, use `compute`"});
  if (results.size() < init.size())
    throw Error({.code = "te.scan.state",
                 .at = span,
                 .message = str("the step of scan `", names.first(), "` makes ", results.size(),
                                " tensors for ", init.size(), " states"),
                 .help = "return the new value of every state, in order"});
  for (size_t i = 0; i < init.size(); ++i) check_state(init[i], results[i], span);

  Body body(frame);
  for (const Tensor& t : init) add_once(body.reads, t);
  for (const Tensor& t : results) body.add(t);
  const std::vector<std::string> output_names = names.of(results.size());
  StageNode node{.reads = std::move(body.reads), .span = span};
  for (size_t i = 0; i < results.size(); ++i) {
    const ir::Elem elem = results[i].elem();
    const Shape shape = over_time(frame.time.extent, results[i].shape());
    node.outputs.push_back(ir::make_buffer(output_names[i], elem,
                                           checked_shape(output_names[i], elem, shape, span), {},
                                           nullptr, 0, span));
  }
  node.def = Scan{.time = frame.time,
                  .init = init,
                  .prev = frame.prev,
                  .results = results,
                  .body = std::move(body.stages)};
  const Stage stage = make_stage(std::move(node));
  std::vector<Tensor> out;
  for (size_t i = 0; i < results.size(); ++i) out.emplace_back(stage, static_cast<int>(i));
  return out;
}

}  // namespace tilewright::te
