// SPDX-License-Identifier: Apache-2.0
// The execution plan: a small register code that says how one run of the model goes. It is stored
// as it stands here and executed out of the mapped file, after a verifier has proved every index.
//
// Registers hold i64: sizes, symbols, counters, conditions. The first ones are constants and are
// never written, so every operand is a register and a size that is known is one of a constant.
//
// A run:  1. the input dimensions go into the registers that `bindings` names, and are checked;
//         2. the prologue computes what follows from them (integers, checks and forward jumps
//         only):
//            sizes of outputs, offsets, arena bytes. It also answers "what shape will the outputs
//            have?" without running;
//         3. every value whose dims and offset are constants or bound or set by the prologue is
//            defined: its address and shape are set. With the same input shapes as in the last run,
//            2 and 3 are skipped;
//         4. the body runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "module/elem.h"

namespace tilewright {

using Reg = uint32_t;      // index of a register
using ValueId = uint32_t;  // index of a value
constexpr uint32_t kNone = ~0u;

/// Axis `axis` of input `input` is stored in `reg`. The second binding of a register, and one of a
/// constant, check that they are equal.
struct DimBinding {
  uint32_t input = 0;
  uint32_t axis = 0;
  Reg reg = 0;
  uint32_t symbol = kNone;  // its name, an offset in the names
  int64_t min = 0;
  int64_t max = INT64_MAX;
  int64_t divisor = 1;
};

/// A place where a value lives. Its dims are `rank` registers from `Plan::dims[dims]` on, read when
/// the value is defined, allocated or resized.
struct PlanValue {
  enum class Storage : uint8_t {
    Input,     // `index`: which; its dims are those of the caller's tensor
    Output,    // `index`: which; in the caller's memory or, without that, the runtime's
    Constant,  // `index`: which of the module's constants
    Arena,     // at byte `offset` (a register) of the context's arena
    View,      // in the storage of value `index`, from byte `offset` (a register) on
    Dynamic,   // allocated while the plan runs, or bound to another value by Share; `index`: what
               // the model calls it, an offset in the names, or kNone
  };
  Storage storage = Storage::Dynamic;
  uint8_t rank = 0;
  /// The shape is not computed from registers: a host operator or Share sets it, and LoadDim reads
  /// it. Always so for inputs, sequences and optionals.
  uint8_t own_shape = 0;
  uint8_t reserved = 0;
  ValueType type;
  uint32_t index = 0;
  Reg offset = 0;
  uint32_t dims = 0;
};
static_assert(sizeof(PlanValue) == 20);

/// An instruction is a row of 32-bit words: `op | words << 8`, then operands in the order given.
/// r, d: registers; v: a value.
enum class PlanOp : uint8_t {
  // Integers. Overflow and division by zero end the run with an error.
  Set,        // d a
  Add,        // d a b
  Sub,        // d a b
  Mul,        // d a b
  FloorDiv,   // d a b
  FloorMod,   // d a b
  Min,        // d a b
  Max,        // d a b
  Equal,      // d a b      1 or 0
  Less,       // d a b
  LessEqual,  // d a b
  And,        // d a b     of truth values: 0 is false
  Or,         // d a b
  Not,        // d a
  Select,     // d c a b   a when c is not 0

  Check,       // r message          error with the text when r is 0
  Jump,        // target             word index in `code`; the end is `code.size()`
  JumpIfZero,  // r target

  // Values.
  LoadElement,  // d v i             element i (row-major) of an integer or bool tensor
  LoadDim,      // d v axis          axis: the number itself
  Define,       // v                 sets address and shape of an arena value or a view
  Alloc,        // v                 fresh memory for a dynamic value or an output
  Resize,       // v                 the same, but the elements it had stay: they are a prefix in
                //                   row-major order. Grows geometrically
  Free,         // v                 gives a dynamic value's memory back; it is undefined then
  Share,  // v from            v becomes another reference to what `from` holds. Into an output
          //                   that the caller gave memory for, the elements are copied
  Copy,   // v from            copies the elements; both have the same number of bytes
  StoreElement,  // v i r      element i (row-major) of an integer or bool tensor becomes r

  // Kernels: kernel workspace scratch n_buffers n_scalars, buffers…, scalars…
  // workspace, scratch: registers with bytes of tw_host::workspace, and of scratch for each worker.
  Call,         // the verifier has proved that no parameter overlaps one that is written
  CallChecked,  // the same is looked at in each run: for dynamic values, views, register offsets

  HostCall,  // host_op attributes n_inputs n_outputs, inputs…, outputs…
             // attributes: word index in `attributes`; an input or output may be kNone: not given

  // v extent column columns message: elements column, column + columns, … (row-major) of an integer
  // tensor are at least -extent and less than extent, or the run ends with an error that names the
  // first one that is not.
  CheckIndices,
};
constexpr int kPlanOpCount = static_cast<int>(PlanOp::CheckIndices) + 1;

/// A plan in the memory of the compiler; PlanBuilder makes it. Names are offsets in Module::names.
struct Plan {
  std::vector<int64_t> constants;  // registers 0 … constants.size() − 1
  uint32_t registers = 0;          // all of them, the constants included
  std::vector<DimBinding> bindings;
  std::vector<PlanValue> values;
  std::vector<Reg> dims;
  std::vector<uint32_t> code;
  uint32_t prologue_words = 0;  // the prologue is code[0 … prologue_words)
  std::vector<uint32_t> attributes;
  Reg arena_bytes = 0;  // after the prologue it holds the bytes that the arena needs
  // Reserved when a context is created, where memory allows: for the largest inputs, or 0.
  int64_t arena_max = 0, workspace_max = 0;
  int64_t scratch_max = 0;  // for each worker
  // Not stored: bytes of the arena for the sizes where it wastes most, and what lives at once then.
  int64_t laid_out_bytes = 0, live_bytes = 0;
  std::vector<std::string> arena_texts;  // not stored: what it takes at likely sizes
};

}  // namespace tilewright
