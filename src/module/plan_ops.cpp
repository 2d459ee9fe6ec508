// SPDX-License-Identifier: Apache-2.0
#include "module/plan_ops.h"

namespace tilewright {

const PlanOpInfo& info_of(PlanOp op) {
  static constexpr PlanOpInfo rows[kPlanOpCount] = {
      {"set", "dr"},
      {"add", "drr"},
      {"sub", "drr"},
      {"mul", "drr"},
      {"floordiv", "drr"},
      {"floormod", "drr"},
      {"min", "drr"},
      {"max", "drr"},
      {"equal", "drr"},
      {"less", "drr"},
      {"less_equal", "drr"},
      {"and", "drr"},
      {"or", "drr"},
      {"not", "dr"},
      {"select", "drrr"},
      {"check", "rm"},
      {"jump", "t"},
      {"jump_if_zero", "rt"},
      {"load_element", "dvr"},
      {"load_dim", "dvn"},
      {"define", "w"},
      {"alloc", "w"},
      {"resize", "w"},
      {"free", "w"},
      {"share", "wv"},
      {"copy", "vv"},
      {"store_element", "vrr"},
      {"call", "nrrnn"},
      {"call_checked", "nrrnn"},
      {"host_call", "nnnn"},
      {"check_indices", "vrnnm"},
  };
  return rows[static_cast<int>(op)];
}

}  // namespace tilewright
