// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "module/verify.h"

namespace tilewright {

/// The value whose memory it lies in: itself, or what it is a view of.
ValueId root_of(const PlanView& plan, ValueId id);

/// Is it memory that the plan may write to? Inputs and constants are not, nor views of them.
bool may_write(const PlanView& plan, ValueId id);

struct CallChecks {
  const ModuleView& module;
  const VariantView& variant;
  PlanFacts& facts;
  ErrorText& error;
};

/// A Call or CallChecked, whose fixed operands are already proved.
bool verify_call(const CallChecks& checks, PlanOp op, std::span<const uint32_t> words);

}  // namespace tilewright
