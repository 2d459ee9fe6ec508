// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_ops/host_op.h"

namespace tilewright::runtime {

const HostOp* find_host_op(std::string_view name) {
  for (const std::span<const HostOp> family :
       {sequence_ops(), optional_ops(), string_ops(), random_ops(), image_ops()})
    for (const HostOp& op : family)
      if (name == op.name) return &op;
  return nullptr;
}

}  // namespace tilewright::runtime
