// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "module/module.h"
#include "module/plan.h"

namespace tilewright {

/// An attribute of a host operator.
struct HostAttribute {
  std::string name;
  std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
               std::vector<std::string>>
      value;
};

/// Writes a plan instruction by instruction. First bind(), then the prologue's integers and checks,
/// then end_prologue(), then the body. Values may be declared at any time before they are used.
///
///   PlanBuilder plan(module);
///   const Reg n = plan.bind(0, 0, {.min = 1, .max = 32, .symbol = "batch"});
///   const Reg c = plan.constant(10);
///   plan.bind_to(0, 1, c);
///   const Reg bytes = plan.op(PlanOp::Mul, n, plan.constant(40));
///   plan.end_prologue(bytes);
///   const ValueId x = plan.input(0), y = plan.output(0, {n, c});
///   plan.call(kernel, {x, y}, {n});
///   variant.plan = plan.finish();
class PlanBuilder {
 public:
  /// Texts and ports are the module's; constants and kernels are only named.
  explicit PlanBuilder(Module& module) : module_(module) {}

  struct Range {
    int64_t min = 0;
    int64_t max = INT64_MAX;
    int64_t divisor = 1;
    std::string_view symbol;
  };
  struct Label {
    uint32_t id;
  };

  Reg constant(int64_t value);
  Reg fresh();

  /// A new register that holds the dimension.
  Reg bind(uint32_t input, uint32_t axis, const Range& range);
  /// The dimension must equal the register: another symbol's or a constant's.
  void bind_to(uint32_t input, uint32_t axis, Reg reg);

  /// Integer operations, into a fresh register or a given one (for loops).
  Reg op(PlanOp op, Reg a);
  Reg op(PlanOp op, Reg a, Reg b);
  Reg select(Reg condition, Reg a, Reg b);
  void op_to(Reg d, PlanOp op, Reg a, Reg b);
  void set(Reg d, Reg a);

  /// `message` names the model's node and the fact.
  void check(Reg r, std::string_view message);
  /// `message` names the model's node; the runtime says which index is out of range.
  void check_indices(ValueId v, Reg extent, uint32_t column, uint32_t columns,
                     std::string_view message);

  Label label();
  void place(Label label);
  void jump(Label label);
  void jump_if_zero(Reg r, Label label);

  ValueId input(uint32_t index);
  /// Without `dims`, of a sequence, an optional or an output whose shape a host operator or Share
  /// sets.
  ValueId output(uint32_t index, std::span<const Reg> dims);
  ValueId output(uint32_t index);
  ValueId constant_value(uint32_t index, ElemType elem, std::span<const Reg> dims);
  ValueId arena(Reg offset, ElemType elem, std::span<const Reg> dims);
  ValueId view(ValueId of, Reg offset, ElemType elem, std::span<const Reg> dims);
  /// `name`: what the model calls it, for errors.
  ValueId dynamic(ElemType elem, std::span<const Reg> dims, std::string_view name = {});
  /// A tensor whose shape a host operator or Share sets, a sequence (rank 0), an optional (rank 0).
  ValueId dynamic(ValueType type, uint32_t rank, std::string_view name = {});

  Reg load_element(ValueId v, Reg index);
  void store_element(ValueId v, Reg index, Reg r);
  Reg load_dim(ValueId v, uint32_t axis);
  void define(ValueId v);
  void alloc(ValueId v);
  void resize(ValueId v);
  void free(ValueId v);
  void share(ValueId v, ValueId from);
  void copy(ValueId v, ValueId from);

  struct Work {
    Reg shared = kNone;      // bytes; kNone: 0
    Reg per_worker = kNone;  // bytes; kNone: 0
  };
  /// Call or CallChecked, as the values ask for.
  void call(uint32_t kernel, std::span<const ValueId> buffers, std::span<const Reg> scalars,
            Work work = {kNone, kNone});
  /// `name` is added to the module's host operators.
  void host_call(std::string_view name, std::span<const HostAttribute> attributes,
                 std::span<const ValueId> inputs, std::span<const ValueId> outputs);

  /// `arena_bytes`: what the arena needs, a constant or computed in the prologue; `arena_max`: its
  /// largest value when the declared ranges bound it and it should be allocated at once, else 0.
  void end_prologue(Reg arena_bytes, int64_t arena_max = 0);

  /// Bytes of workspace, and of scratch for each worker, that are enough for every call; 0 when
  /// nothing bounds them.
  void reserve(int64_t workspace, int64_t scratch);
  /// For reports: the arena that was laid out, and the most that lives in it at once.
  void set_live_bytes(int64_t laid_out, int64_t live);
  void set_arena_texts(std::vector<std::string> lines) { plan_.arena_texts = std::move(lines); }

  Plan finish();

 private:
  void emit(PlanOp op, std::initializer_list<uint32_t> operands);
  ValueId add(const PlanValue& value, std::span<const Reg> dims);
  bool is_constant(Reg r) const;
  bool fixed(const PlanValue& value) const;

  Module& module_;
  Plan plan_;
  std::map<int64_t, Reg> constants_;
  std::vector<uint32_t> label_places_;                     // word index, or kNone
  std::vector<std::pair<uint32_t, uint32_t>> label_uses_;  // word that holds a target, label
};

}  // namespace tilewright
