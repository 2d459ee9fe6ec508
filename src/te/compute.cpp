// SPDX-License-Identifier: Apache-2.0
#include "te/compute.h"

#include <algorithm>
#include <map>

#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::te {
namespace {

using SharedReduction = std::shared_ptr<const Reduction>;

std::string list_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += str(out.empty() ? "`" : ", `", name, "`");
  return out;
}

/// The tensors among `known` that the values read, in the order of the loads.
std::vector<Tensor> reads_of(const std::vector<ir::Expr>& values,
                             const std::vector<Tensor>& known) {
  std::vector<Tensor> out;
  for (const ir::Expr& value : values)
    ir::walk(value, [&](const ir::Load& load) {
      for (const Tensor& t : known)
        if (t.buffer() == load.buffer) add_once(out, t);
    });
  return out;
}

Stage compute_stage(const std::vector<std::string>& names, Compute def,
                    const std::vector<Tensor>& known, const Span& span) {
  Shape shape;
  for (const Iter& axis : def.axes) shape.push_back(axis.extent);
  StageNode node{.reads = reads_of(def.values, known), .span = span};
  for (size_t i = 0; i < def.values.size(); ++i) {
    const ir::Elem elem = def.values[i].type().elem;
    node.outputs.push_back(ir::make_buffer(
        names[i], elem, checked_shape(names[i], elem, shape, span), {}, nullptr, 0, span));
  }
  node.def = std::move(def);
  return make_stage(std::move(node));
}

/// Makes stages of the reductions inside expressions, and puts loads of their results in place.
///   y[i] = exp(x[i] - max(k) x[k])   ->   y_max = max(k) x[k];  y[i] = exp(x[i] - y_max[])
class Hoister {
 public:
  Hoister(std::string name, Span span) : name_(std::move(name)), span_(std::move(span)) {}

  /// `e`, which stands inside the axes `around`, without reductions; `reads` gains what it reads.
  ir::Expr operator()(const Expr& e, const std::vector<Iter>& around, std::vector<Tensor>& reads) {
    for (const Tensor& t : e.reads()) add_once(reads, t);
    ir::VarMap results;
    for (const SharedReduction& r : e.reductions()) {
      refuse_under_guard(e.ir(), *r);
      const Hoisted& stage = hoisted(r, around);
      for (size_t i = 0; i < r->results.size(); ++i) {
        const Tensor t(stage.stage, static_cast<int>(i));
        results[r->results[i]] = ir::load(t.buffer(), stage.indices);
        add_once(reads, t);
      }
    }
    return ir::substitute(e.ir(), results);
  }

 private:
  struct Hoisted {
    Stage stage;
    std::vector<ir::Expr> indices;
  };

  const Hoisted& hoisted(const SharedReduction& r, const std::vector<Iter>& around) {
    const auto known = made_.find(r);
    if (known != made_.end()) return known->second;

    Compute def{.reduce_axes = r->axes, .reducer = r->reducer};
    std::vector<Iter> inside = around;
    inside.insert(inside.end(), r->axes.begin(), r->axes.end());
    std::vector<Tensor> reads;
    std::unordered_set<ir::Var> mentioned;
    for (const Expr& value : r->values) {
      def.values.push_back((*this)(value, inside, reads));
      mentioned.merge(ir::vars_of(def.values.back()));
    }
    for (const Iter& axis : r->axes) mentioned.erase(axis.var);
    std::vector<ir::Expr> indices;
    for (const Iter& axis : around) {
      if (!mentioned.contains(axis.var)) continue;
      def.axes.push_back(axis);
      indices.push_back(axis.var);
    }
    const std::vector<std::string> names =
        Names(str(name_, "_", r->reducer->name)).of(r->results.size());
    return made_[r] = {compute_stage(names, std::move(def), reads, span_), std::move(indices)};
  }

  /// A stage is computed at every point, so a condition cannot protect a reduction in it.
  void refuse_under_guard(const ir::Expr& e, const Reduction& r) const {
    const auto mentions = [&](const ir::Expr& part) {
      return std::any_of(r.results.begin(), r.results.end(),
                         [&](const ir::Var& v) { return ir::uses(part, v); });
    };
    ir::walk(e, [&](const ir::Guard& g) {
      if (!mentions(g.yes) && !mentions(g.no)) return;
      throw Error({.code = "te.reduce.nested",
                   .at = span_,
                   .message = str("`", name_, "` has a reduction `", r.reducer->name,
                                  "` inside of `guard`"),
                   .notes = {"a reduction inside of a larger expression is computed as a stage "
                             "before it, where the guard's condition does not hold"},
                   .help = "compute the reduction as a stage of its own, or use `select`"});
    });
  }

  std::string name_;
  Span span_;
  std::map<SharedReduction, Hoisted> made_;
};

/// The reduction of which every result is a part by itself, or null.
SharedReduction whole_reduction(const Tuple& results) {
  if (results[0].reductions().size() != 1) return nullptr;
  const SharedReduction& r = results[0].reductions()[0];
  for (const Expr& e : results)
    if (e.reductions() != results[0].reductions() ||
        std::find(r->results.begin(), r->results.end(), e.ir()) == r->results.end())
      return nullptr;
  return r;
}

}  // namespace

std::vector<std::string> Names::of(size_t count) const {
  if (names_.size() == count) return names_;
  if (names_.size() > 1)
    throw Error({.code = "te.compute.names",
                 .message = str("the names ", list_of(names_), " for ", count, " outputs"),
                 .help = "give one name, or one for each output"});
  if (count == 1) return {first()};
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) out.push_back(str(first(), "_", i));
  return out;
}

std::vector<Tensor> make_compute(const Names& names, const std::vector<Iter>& axes,
                                 const Tuple& results, const Span& span) {
  const std::vector<std::string> result_names = names.of(results.size());
  if (results.empty())
    throw Error({.code = "te.compute.empty",
                 .at = span,
                 .message = "a stage without outputs",
                 .help = "return at least one expression"});
  Hoister hoist(result_names[0], span);
  std::vector<Tensor> reads, out;

  const SharedReduction r = whole_reduction(results);
  if (!r) {
    Compute def{.axes = axes};
    for (const Expr& e : results) def.values.push_back(hoist(e, axes, reads));
    const Stage stage = compute_stage(result_names, std::move(def), reads, span);
    for (size_t i = 0; i < results.size(); ++i) out.emplace_back(stage, static_cast<int>(i));
    return out;
  }

  // The stage computes the whole tuple, whichever part of it the user asked for.
  Compute def{.axes = axes, .reduce_axes = r->axes, .reducer = r->reducer};
  std::vector<Iter> inside = axes;
  inside.insert(inside.end(), r->axes.begin(), r->axes.end());
  for (const Expr& value : r->values) def.values.push_back(hoist(value, inside, reads));
  std::vector<std::string> output_names = Names(result_names[0]).of(r->results.size());
  std::vector<int> chosen;
  for (size_t i = 0; i < results.size(); ++i) {
    const auto at = std::find(r->results.begin(), r->results.end(), results[i].ir());
    chosen.push_back(static_cast<int>(at - r->results.begin()));
    output_names[static_cast<size_t>(chosen[i])] = result_names[i];
  }
  const Stage stage = compute_stage(output_names, std::move(def), reads, span);
  for (const int i : chosen) out.emplace_back(stage, i);
  return out;
}

namespace detail {

std::vector<Iter> numbered_axes(const Names& names, const Shape& shape) {
  std::vector<Iter> axes;
  for (size_t d = 0; d < shape.size(); ++d)
    axes.push_back({ir::Var(str("i", d)),
                    checked_extent(str("extent ", d, " of `", names.first(), "`"), shape[d], {})});
  return axes;
}

void refuse_rank(const Names& names, size_t axes, size_t rank) {
  throw Error({.code = "te.compute.rank",
               .message = str("`", names.first(), "` has ", rank,
                              " dimensions, its function takes ", axes, " axes"),
               .help = "give the function one Var per dimension, or one std::vector<Var>"});
}

}  // namespace detail
}  // namespace tilewright::te
