// SPDX-License-Identifier: Apache-2.0
// A seed for random tensors whose model gives none. The numbers themselves come from a kernel.
#include <atomic>
#include <time.h>

#include "runtime/host_ops/host_op.h"

namespace tilewright::runtime {
namespace {

tw_status seed(HostCall& call) {
  static std::atomic<int64_t> calls{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (call.has_output(0) && call.output_type(0).elem != ElemType::I64)
    return call.fail("a seed is an i64");
  auto* out = static_cast<int64_t*>(call.output(0, std::span<const int64_t>()));
  if (out == nullptr) return call.status();
  const auto ticks =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'007U + static_cast<uint64_t>(now.tv_nsec);
  *out = static_cast<int64_t>(ticks ^ static_cast<uint64_t>(calls.fetch_add(1)) << 40);
  return TW_OK;
}

}  // namespace

std::span<const HostOp> random_ops() {
  static constexpr HostOp ops[] = {{"random_seed", seed}};
  return ops;
}

}  // namespace tilewright::runtime
