// SPDX-License-Identifier: Apache-2.0
#include "ir/buffer.h"

#include <algorithm>

#include "ir/check_that.h"

namespace tilewright::ir {

std::string print(const Scope& scope) {
  switch (scope.kind) {
    case ScopeKind::Global: return "global";
    case ScopeKind::Constant: return "constant";
    case ScopeKind::Cluster: return "cluster";
    case ScopeKind::Shared: return "shared";
    case ScopeKind::Warp: return "warp";
    case ScopeKind::Register: return "register";
    case ScopeKind::Tile: return "tile";
    case ScopeKind::Named: return scope.name;
  }
  __builtin_unreachable();
}

std::string_view name(PhysKind kind) {
  constexpr std::string_view kNames[] = {"address", "lane", "register"};
  return kNames[static_cast<int>(kind)];
}

Buffer make_buffer(std::string name, Elem elem, std::vector<Expr> shape, Scope scope, Layout layout,
                   int64_t alignment, Span span) {
  for (const Expr& extent : shape)
    check_that(extent.type() == kIndex, "an extent of `", name, "` is ", extent.type(),
               ", not i64");
  check_that(!layout || layout->indices.size() == shape.size(), "the layout of `", name,
             "` has another rank than its shape");
  auto node = std::make_shared<BufferNode>();
  node->name = std::move(name);
  node->elem = elem;
  node->shape = std::move(shape);
  node->scope = std::move(scope);
  node->layout = std::move(layout);
  node->alignment = alignment;
  node->span = std::move(span);
  return Buffer(std::shared_ptr<const BufferNode>(std::move(node)));
}

int check_access(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& mask,
                 const Expr& rank) {
  check_that(indices.size() == buffer->shape.size(), "`", buffer->name, "` has ", buffer->rank(),
             " dimensions, the access ", indices.size());
  int lanes = mask ? mask.type().lanes : 1;
  for (const Expr& index : indices) lanes = std::max(lanes, index.type().lanes);
  for (const Expr& index : indices) {
    check_that(index.type().elem == Elem::I64, "an index of `", buffer->name, "` is ", index.type(),
               ", not i64");
    check_that(index.type().lanes == 1 || index.type().lanes == lanes, "the indices of `",
               buffer->name, "` have different numbers of lanes");
  }
  if (mask)
    check_that(mask.type().is_bool() && mask.type().lanes == lanes, "the mask of an access to `",
               buffer->name, "` is ", mask.type(), ", not boolx", lanes);
  if (rank) check_that(rank.type() == kIndex, "the rank in `", buffer->name, "@…` is not an i64");
  return lanes;
}

}  // namespace tilewright::ir
