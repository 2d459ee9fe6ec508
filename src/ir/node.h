// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "support/diagnostic.h"

namespace tilewright::ir {

/// A counted handle of an immutable node. Equality is identity: a rewrite that changes nothing
/// returns the same handle, so `before == after` is a pointer compare.
template <class Node>
class Handle {
 public:
  Handle() = default;
  Handle(std::nullptr_t) {}
  explicit Handle(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  const Node* operator->() const { return node_.get(); }
  const Node& operator*() const { return *node_; }
  const Node* get() const { return node_.get(); }
  const std::shared_ptr<const Node>& shared() const { return node_; }

  friend bool operator==(const Handle& a, const Handle& b) { return a.node_ == b.node_; }

 private:
  std::shared_ptr<const Node> node_;
};

/// A node that would have no meaning: thrown by a node's `check`. Our mistake when it comes from a
/// pass; whoever reads a user's text or builds from a user's calls turns it into a Diagnostic.
class CheckError : public InternalError {
 public:
  using InternalError::InternalError;
};

/// The one list of a node's fields; walking, rewriting, comparing and hashing come from it.
///   static constexpr auto fields = members(&Load::buffer, &Load::indices);
template <class... Members>
constexpr auto members(Members... m) {
  return std::tuple<Members...>(m...);
}

/// Calls f(node.field) for each listed field, in order.
template <class T, class F>
void for_each_field(T& node, F&& f) {
  std::apply([&](auto... m) { (f(node.*m), ...); }, std::remove_const_t<T>::fields);
}

/// Calls f(a.field, b.field) for each listed field, in order.
template <class T, class F>
void for_each_field(T& a, const std::remove_const_t<T>& b, F&& f) {
  std::apply([&](auto... m) { (f(a.*m, b.*m), ...); }, std::remove_const_t<T>::fields);
}

template <class T>
concept HasFields = requires { T::fields; };

}  // namespace tilewright::ir

template <class Node>
struct std::hash<tilewright::ir::Handle<Node>> {
  size_t operator()(const tilewright::ir::Handle<Node>& h) const {
    return std::hash<const void*>()(h.get());
  }
};
