// SPDX-License-Identifier: Apache-2.0
// The interpreter of the plan. The verifier has proved all indices: nothing is checked here but
// what depends on values.
#include <cinttypes>

#include "module/plan_ops.h"
#include "runtime/context.h"

namespace tilewright::runtime {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
int64_t floor_mod(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/// False when the result does not exist.
bool integer(PlanOp op, int64_t a, int64_t b, int64_t& d) {
  switch (op) {
    case PlanOp::Add: return !__builtin_add_overflow(a, b, &d);
    case PlanOp::Sub: return !__builtin_sub_overflow(a, b, &d);
    case PlanOp::Mul: return !__builtin_mul_overflow(a, b, &d);
    case PlanOp::FloorDiv:
    case PlanOp::FloorMod:
      if (b == 0 || (a == INT64_MIN && b == -1)) return false;
      d = op == PlanOp::FloorDiv ? floor_div(a, b) : floor_mod(a, b);
      return true;
    case PlanOp::Min: d = a < b ? a : b; return true;
    case PlanOp::Max: d = a > b ? a : b; return true;
    case PlanOp::Equal: d = a == b; return true;
    case PlanOp::Less: d = a < b; return true;
    case PlanOp::LessEqual: d = a <= b; return true;
    case PlanOp::And: d = a != 0 && b != 0; return true;
    case PlanOp::Or: d = a != 0 || b != 0; return true;
    default: return false;
  }
}

}  // namespace

tw_status Context::execute(uint32_t at, uint32_t end) {
  const uint32_t* const code = plan_.code.data();
  int64_t* const r = registers_.data();
  while (at != end) {
    if (cancel_.load(std::memory_order_relaxed)) return fail(TW_CANCELLED, "the run was cancelled");
    const uint32_t* w = code + at;
    at += words_of(w[0]);
    tw_status status = TW_OK;
    const auto op = static_cast<PlanOp>(op_number(w[0]));
    switch (op) {
      case PlanOp::Call: status = call(w, false); break;
      case PlanOp::CallChecked: status = call(w, true); break;
      case PlanOp::HostCall: status = host_call(w); break;
      case PlanOp::CheckIndices: status = check_indices(w); break;

      case PlanOp::Set: r[w[1]] = r[w[2]]; break;
      case PlanOp::Not: r[w[1]] = r[w[2]] == 0; break;
      case PlanOp::Select: r[w[1]] = r[w[2]] != 0 ? r[w[3]] : r[w[4]]; break;
      case PlanOp::Check:
        if (r[w[1]] == 0) status = fail(TW_RUN_FAILED, "%s", module_.name(w[2]));
        break;
      case PlanOp::Jump: at = w[1]; break;
      case PlanOp::JumpIfZero:
        if (r[w[1]] == 0) at = w[2];
        break;

      case PlanOp::LoadElement: status = load_element(w[2], r[w[3]], r[w[1]]); break;
      case PlanOp::LoadDim:
        if (live(w[2]) == nullptr)
          status = undefined(w[2]);
        else
          r[w[1]] = slots_[w[2]].dims[w[3]];
        break;
      case PlanOp::Define: status = define(w[1]); break;
      case PlanOp::Alloc: status = allocate_slot(w[1], false); break;
      case PlanOp::Resize: status = allocate_slot(w[1], true); break;
      case PlanOp::Free: clear(slots_[w[1]]); break;
      case PlanOp::Share: status = share(w[1], w[2]); break;
      case PlanOp::Copy: status = copy(w[1], w[2]); break;
      case PlanOp::StoreElement: status = store_element(w[1], r[w[2]], r[w[3]]); break;

      default:
        if (!integer(op, r[w[2]], r[w[3]], r[w[1]]))
          status = fail(TW_RUN_FAILED,
                        "a size of the model cannot be computed: %s of %" PRId64 " and %" PRId64,
                        info_of(op).name, r[w[2]], r[w[3]]);
    }
    if (status != TW_OK) return status;
  }
  return TW_OK;
}

}  // namespace tilewright::runtime
