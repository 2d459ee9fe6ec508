// SPDX-License-Identifier: Apache-2.0
#include "driver/reference.h"

#include <algorithm>
#include <unordered_map>

#include "graph/op_def.h"
#include "ir/interpret/interpret.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "lower/to_blocks.h"
#include "ops/control.h"
#include "ops/program_of.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using namespace graph;

class Machine {
 public:
  Machine(Graph& graph, std::map<std::string, Constant>* keep) : graph_(graph), keep_(keep) {
    know_symbols();
  }

  std::vector<Constant> run(const std::vector<Constant>& inputs) {
    const Function main = graph_.main();
    require(inputs.size() == main.inputs.size(), "as many inputs as the graph has");
    for (size_t i = 0; i < inputs.size(); ++i)
      set(main.inputs[i], inputs[i] ? inputs[i] : default_of(main.inputs[i]));
    for (size_t i = 0; i < inputs.size(); ++i) check_input(main.inputs[i]);
    for (const Check& check : graph_.checks)
      if (is_known(check.condition)) verify(check);
    return run(main, graph_.checks);
  }

 private:
  std::vector<Constant> run(const Function& f, const std::vector<Check>& checks) {
    for (const Node& node : f.nodes) run(node, checks);
    for (const Check& check : checks)  // of nodes that passes have removed
      if (is_known(check.condition)) verify(check);
    std::vector<Constant> out;
    for (const ValueId id : f.outputs) out.push_back(get(id));
    return out;
  }

  void run(const Node& node, const std::vector<Check>& checks) {
    if (std::all_of(node.outputs.begin(), node.outputs.end(),
                    [&](ValueId id) { return id == kNoValue || graph_.value(id).constant; }))
      return;  // known already
    for (const Check& check : checks)
      if (check.origin.text == node.origin.text && is_known(check.condition)) verify(check);
    if (node.op == &ops::if_op()) return run_if(node);
    if (node.op == &ops::loop_op()) return run_loop(node);
    if (node.op->indexed) verify_indices(node);
    if (node.op->special == Special::View) {
      const Constant& from = get(node.inputs[0]);
      const TensorType& type = *graph_.type(node.outputs[0]).tensor();
      set(node.outputs[0],
          from->is_strings ? string_constant(shape_of(type), from->strings)
                           : view_constant(from->elem, shape_of(type), from->bytes, from.shared()));
      return;
    }
    if (!ops::is_computed(*node.op))
      throw Error({.code = "driver.reference.operator",
                   .at = {},
                   .message = str("the interpreter cannot run `", node.op->name, "`"),
                   .notes = {str("at ", node.origin.text)},
                   .help = "compile the model and use `run`"});
    compute(node);
  }

  void run_if(const Node& node) {
    const Function& body = node.bodies.at(int_at(*get(node.inputs[0]), 0) ? 0 : 1);
    const std::vector<Constant> results = run(body, body.checks);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue) set(node.outputs[i], results.at(i));
  }

  void run_loop(const Node& node) {
    const Function& body = node.bodies.at(0);
    const size_t carried = body.inputs.size() - 2;
    const auto given = [&](size_t i) { return i < node.inputs.size() && node.inputs[i] >= 0; };
    const int64_t most = given(0) ? int_at(*get(node.inputs[0]), 0) : INT64_MAX;
    bool goes_on = !given(1) || int_at(*get(node.inputs[1]), 0);
    std::vector<Constant> state;
    for (size_t i = 0; i < carried; ++i) state.push_back(get(node.inputs[i + 2]));
    std::vector<std::vector<Constant>> stacks(body.outputs.size() - 1 - carried);
    for (int64_t step = 0; step < most && goes_on; ++step) {
      set(body.inputs[0], int_constant(ir::Elem::I64, {}, {step}));
      set(body.inputs[1], int_constant(ir::Elem::Bool, {}, {1}));
      for (size_t i = 0; i < carried; ++i) set(body.inputs[i + 2], state[i]);
      std::vector<Constant> results = run(body, body.checks);
      goes_on = int_at(*results[0], 0);
      for (size_t i = 0; i < carried; ++i) state[i] = results[i + 1];
      for (size_t i = 0; i < stacks.size(); ++i)
        stacks[i].push_back(std::move(results[i + 1 + carried]));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue)
        set(node.outputs[i],
            i < carried ? state[i] : stacked(stacks[i - carried], node.outputs[i]));
  }

  /// Tensors of one shape along a new first dimension.
  Constant stacked(const std::vector<Constant>& parts, ValueId result) {
    const TensorType& type = *graph_.type(result).tensor();
    std::vector<int64_t> shape{static_cast<int64_t>(parts.size())};
    if (parts.empty()) {
      // Extents that only an iteration would tell are 0.
      for (size_t d = 1; d < type.shape.size(); ++d)
        shape.push_back(ir::const_int(type.shape[d]).value_or(0));
    } else {
      shape.insert(shape.end(), parts[0]->shape.begin(), parts[0]->shape.end());
    }
    std::vector<std::byte> bytes;
    std::vector<int64_t> packed;  // of elements below a byte
    std::vector<std::string> strings;
    for (const Constant& part : parts) {
      if (part->shape != parts[0]->shape)
        throw Error({.code = "driver.run.stack",
                     .at = {},
                     .message = str("the iterations of a loop give `", graph_.value(result).name,
                                    "` different shapes"),
                     .notes = {},
                     .help = "let the body give the same shape in every iteration"});
      if (ir::bits(type.elem) < 8 && !type.strings)
        for (const int64_t v : ints_of(*part)) packed.push_back(v);
      bytes.insert(bytes.end(), part->bytes.begin(), part->bytes.end());
      strings.insert(strings.end(), part->strings.begin(), part->strings.end());
    }
    if (!packed.empty()) return int_constant(type.elem, shape, packed);
    return type.strings ? string_constant(shape, strings)
                        : make_constant(type.elem, shape, std::move(bytes));
  }

  void compute(const Node& node) {
    std::vector<ValueId> wanted;
    for (const ValueId id : node.outputs)
      if (id != kNoValue) wanted.push_back(id);
    Node whole = node;
    const ops::KernelProgram kernel =
        ops::program_of(graph_, {whole}, wanted, std::string(node.op->name));
    know_symbols();
    const ir::LoopFunc func = kernel.loops ? *kernel.loops : lower::to_blocks(*kernel.program);
    std::vector<ir::Array> args;
    for (const ValueId id : kernel.inputs) {
      const Constant& c = get(id);
      args.push_back(ir::from_bytes(c->elem, c->shape, c->bytes));
    }
    for (const ValueId id : kernel.outputs) {
      const TensorType& type = *graph_.type(id).tensor();
      args.push_back(ir::make_array(type.elem, shape_of(type)));
    }
    std::vector<int64_t> scalars;
    for (const ir::Symbol& s : func.symbols) scalars.push_back(value_of(s.var));
    ir::interpret(func, args, scalars);
    for (size_t i = 0; i < kernel.outputs.size(); ++i) {
      const ir::Array& a = args[kernel.inputs.size() + i];
      set(kernel.outputs[i], make_constant(a.elem, a.shape, ir::to_bytes(a)));
    }
  }

  void know_symbols() {
    for (size_t i = symbols_.size(); i < graph_.symbols.size(); ++i)
      symbols_.emplace(graph_.symbols[i].symbol.var, i);
  }

  const Constant& get(ValueId id) {
    if (graph_.value(id).constant) return graph_.value(id).constant;
    const auto found = values_.find(id);
    require(found != values_.end(), "a value is used before it is computed");
    return found->second;
  }

  void set(ValueId id, Constant c) {
    if (keep_) (*keep_)[graph_.value(id).name] = c;
    values_.insert_or_assign(id, std::move(c));
  }

  const Constant& default_of(ValueId id) const {
    const auto found = graph_.defaults.find(id);
    if (found == graph_.defaults.end())
      throw Error({.code = "driver.input.name",
                   .at = {},
                   .message = str("input `", graph_.value(id).name, "` is missing"),
                   .notes = {},
                   .help = "give an array for each input that has no default"});
    return found->second;
  }

  void check_input(ValueId id) {
    const Value& v = graph_.value(id);
    const TensorType* t = v.type.tensor();
    const Constant& c = get(id);
    const bool fits = t && t->strings == c->is_strings && (t->strings || t->elem == c->elem) &&
                      t->shape.size() == c->shape.size() && shape_of(*t) == c->shape;
    if (!fits)
      throw Error({.code = "driver.input.type",
                   .at = {},
                   .message = str("input `", v.name, "` is ", print(Type(c->type()))),
                   .notes = {str("the model wants ", print(v.type))},
                   .help = "give it the type and shape that the model wants"});
  }

  /// Are the values there that its symbols are read from?
  bool is_known(const ir::Expr& e) {
    for (const ir::Var& v : ir::vars_of(e)) {
      const SymbolInfo& s = graph_.symbols[symbols_.at(v)];
      const auto there = [&](ValueId id) {
        return graph_.value(id).constant || values_.contains(id);
      };
      if (const FromElement* element = std::get_if<FromElement>(&s.source))
        if (!there(element->value)) return false;
      if (const FromExtent* extent = std::get_if<FromExtent>(&s.source))
        if (!there(extent->value)) return false;
      if (const FromFormula* f = std::get_if<FromFormula>(&s.source))
        if (!is_known(f->formula)) return false;
    }
    return true;
  }

  void verify(const Check& check) {
    if (!eval(check.condition))
      throw Error({.code = "driver.run.check",
                   .at = {},
                   .message = check.message,
                   .notes = {str("at ", check.origin.text)},
                   .help = "check the shapes and values of the inputs"});
  }

  void verify_indices(const Node& node) {
    const Call call(graph_, *node.op, node.attrs, node.inputs, node.origin, node.bodies);
    std::vector<int64_t> extents;
    for (const Dim& d : node.op->indexed(call)) extents.push_back(eval(d));
    know_symbols();
    const Constant& indices = get(node.inputs[1]);
    for (int64_t i = 0; i < indices->count(); ++i) {
      const int64_t index = int_at(*indices, i);
      const int64_t extent = extents.at(static_cast<size_t>(i) % extents.size());
      if (index < -extent || index >= extent)
        throw Error({.code = "driver.run.index",
                     .at = {},
                     .message = str("index ", index, " is out of range: the dimension has ", extent,
                                    " elements"),
                     .notes = {str("at ", node.origin.text)},
                     .help = str("give indices from ", -extent, " to ", extent - 1)});
    }
  }

  std::vector<int64_t> shape_of(const TensorType& type) {
    std::vector<int64_t> out;
    for (const Dim& d : type.shape) out.push_back(eval(d));
    return out;
  }

  int64_t eval(const ir::Expr& e) {
    const ir::Expr value = ir::rewrite(e, [&](const ir::VarNode& v, auto&) -> ir::Expr {
      return ir::int_imm(ir::Elem::I64, value_of(ir::Var::of(v)));
    });
    const std::optional<int64_t> c = ir::const_int(simplified(value));
    require(c.has_value(), "a formula of symbols without a value");
    return *c;
  }

  int64_t value_of(const ir::Var& var) {
    const SymbolInfo s = graph_.symbols[symbols_.at(var)];
    int64_t value = 0;
    if (const FromInput* in = std::get_if<FromInput>(&s.source)) {
      value = get(in->input)->shape.at(static_cast<size_t>(in->axis));
    } else if (const FromElement* element = std::get_if<FromElement>(&s.source)) {
      value = int_at(*get(element->value), element->index);
      return std::min(std::max(value, s.symbol.min), s.symbol.max);
    } else if (const FromExtent* extent = std::get_if<FromExtent>(&s.source)) {
      value = get(extent->value)->shape.at(static_cast<size_t>(extent->axis));
    } else {
      value = eval(std::get<FromFormula>(s.source).formula);
    }
    const auto [min, max] = given(s);
    if (value < min || value > max || value % s.symbol.divisor)
      throw Error({.code = "driver.run.symbol",
                   .at = {},
                   .message = str("`", var.name(), "` is ", value),
                   .notes = {str("it was compiled for ", min, "..", max, " in multiples of ",
                                 s.symbol.divisor),
                             str("at ", s.origin.text)},
                   .help = "use other inputs, or compile for a wider range"});
    return value;
  }

  Graph& graph_;
  std::map<std::string, Constant>* keep_;
  std::unordered_map<ir::Var, size_t> symbols_;  // places in the graph's list, which grows
  std::unordered_map<ValueId, Constant> values_;
};

}  // namespace

std::vector<Constant> run_reference(Graph graph, const std::vector<Constant>& inputs,
                                    std::map<std::string, Constant>* keep) {
  return Machine(graph, keep).run(inputs);
}

}  // namespace tilewright::driver
