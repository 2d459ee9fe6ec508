// SPDX-License-Identifier: Apache-2.0
#include "ir/equal.h"

#include <bit>
#include <cmath>
#include <functional>
#include <unordered_map>

namespace tilewright::ir {
namespace {

/// Undoes changes of a map from the last to the first.
template <class Value>
class ScopedMap {
 public:
  const Value* find(const void* key) const {
    if (map_.empty()) return nullptr;
    const auto found = map_.find(key);
    return found == map_.end() ? nullptr : &found->second;
  }
  void set(const void* key, Value value) {
    const Value* old = find(key);
    undo_.push_back({key, old != nullptr, old ? *old : Value{}});
    map_[key] = value;
  }
  size_t mark() const { return undo_.size(); }
  void back_to(size_t mark) {
    for (; undo_.size() > mark; undo_.pop_back()) {
      const Entry& last = undo_.back();
      if (last.had)
        map_[last.key] = last.old;
      else
        map_.erase(last.key);
    }
  }

 private:
  struct Entry {
    const void* key;
    bool had;
    Value old;
  };
  std::unordered_map<const void*, Value> map_;
  std::vector<Entry> undo_;
};

/// Walks two trees side by side. A field of type Var binds it to the end of its statement; so does
/// the buffer of an allocation or parameter, and the channel of its scope.
class Comparer {
 public:
  bool same(const Expr& a, const Expr& b) {
    if (a == b && nothing_renamed()) return true;
    if (!a || !b || a->kind != b->kind || a.type() != b.type()) return a == b;
    return visit(a, [&]<class T>(const T& x) { return same_node(x, static_cast<const T&>(*b)); });
  }

  bool same(const Stmt& a, const Stmt& b) {
    if (a == b && nothing_renamed()) return true;
    if (!a || !b || a->kind != b->kind) return a == b;
    const size_t there = there_.mark(), back = back_.mark();
    const bool ok =
        visit(a, [&]<class T>(const T& x) { return same_node(x, static_cast<const T&>(*b)); });
    there_.back_to(there);
    back_.back_to(back);
    return ok;
  }

  bool same(const Reducer& a, const Reducer& b) { return same_item(a, b); }
  bool same(const Instruction& a, const Instruction& b) { return same_item(a, b); }

  bool same(const LoopFunc& a, const LoopFunc& b) {
    return a.name == b.name && a.stage == b.stage && same(a.symbols, b.symbols) &&
           same(a.params, b.params) && same(a.body, b.body);
  }

  template <class T>
  bool same(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!same(a[i], b[i])) return false;
    return true;
  }

  /// A plain part of a node: Range, Region, BlockIter, …
  template <HasFields T>
  bool same(const T& a, const T& b) {
    return same_node(a, b);
  }

 private:
  bool nothing_renamed() const { return there_.mark() == 0; }

  void bind(const void* a, const void* b) {
    if (a == b && !there_.find(a) && !back_.find(b)) return;
    there_.set(a, b);
    back_.set(b, a);
  }
  bool same_thing(const void* a, const void* b) const {
    const void* const* to = there_.find(a);
    const void* const* from = back_.find(b);
    return to || from ? to && from && *to == b && *from == a : a == b;
  }

  template <class T>
  bool same_fields(const T& a, const T& b) {
    bool ok = true;
    for_each_field(a, b, [&](const auto& x, const auto& y) { ok = ok && same(x, y); });
    return ok;
  }
  template <class T>
  bool same_node(const T& a, const T& b) {
    return same_fields(a, b);
  }
  bool same_node(const VarNode& a, const VarNode& b) { return same_thing(&a, &b); }
  bool same_node(const FloatImm& a, const FloatImm& b) {
    return std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value) ||
           (std::isnan(a.value) && std::isnan(b.value));
  }
  bool same_node(const Alloc& a, const Alloc& b) {
    return same_defined(a.buffer, b.buffer) && same(a.body, b.body);
  }
  bool same_node(const Param& a, const Param& b) {
    return a.access == b.access && same_defined(a.buffer, b.buffer);
  }
  bool same_node(const ChannelScope& a, const ChannelScope& b) {
    return same_defined(a.channel, b.channel) && same(a.body, b.body);
  }
  bool same_node(const ReducerNode& a, const ReducerNode& b) {
    return same(a.lhs, b.lhs) && same(a.rhs, b.rhs) && same(a.combine, b.combine) &&
           same(a.identity, b.identity) && same(a.partial, b.partial) && same(a.from, b.from) &&
           same(a.to, b.to) && same(a.rescale, b.rescale);
  }
  bool same_node(const InstructionNode& a, const InstructionNode& b) {
    return a.emit == b.emit && same(a.operands, b.operands) && same(a.compute, b.compute) &&
           same(a.reset, b.reset) && same(a.update, b.update);
  }

  bool same(const Var& a, const Var& b) {
    if (!a || !b) return a == b;
    if (a.type() != b.type()) return false;
    bind(a.get(), b.get());
    return true;
  }
  bool same_defined(const Buffer& a, const Buffer& b) {
    if (!a || !b) return a == b;
    if (a->elem != b->elem || a->alignment != b->alignment || a->scope != b->scope) return false;
    if (!same(a->shape, b->shape) || !same(a->layout, b->layout)) return false;
    bind(a.get(), b.get());
    return true;
  }
  bool same_defined(const Channel& a, const Channel& b) {
    if (a->slots != b->slots || a->commits != b->commits || a->releases != b->releases ||
        a->reach != b->reach)
      return false;
    bind(a.get(), b.get());
    return true;
  }
  bool same(const Buffer& a, const Buffer& b) { return same_thing(a.get(), b.get()); }
  bool same(const Channel& a, const Channel& b) { return same_thing(a.get(), b.get()); }
  bool same(const Layout& a, const Layout& b) {
    if (!a || !b) return a == b;
    return same_node(*a, *b);
  }

  /// Reducers and instructions are closed: one comparison of a pair holds everywhere.
  template <class T>
  bool same_item(const Handle<T>& a, const Handle<T>& b) {
    if (a == b) return true;
    if (!a || !b) return false;
    const auto known = items_.find(a.get());
    if (known != items_.end() && known->second == b.get()) return true;
    Comparer fresh;
    if (!fresh.same_node(*a, *b)) return false;
    items_[a.get()] = b.get();
    return true;
  }

  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> ||
             std::is_same_v<T, Type>)
  bool same(const T& a, const T& b) {
    return a == b;
  }

  ScopedMap<const void*> there_, back_;  // bound things of a in b, and of b in a
  std::unordered_map<const void*, const void*> items_;
};

/// Numbers bound things in the order they are bound, so that their names and identities vanish.
class Hasher {
 public:
  size_t of(const Expr& e) {
    if (!e) return 1;
    const Type t = e.type();
    size_t h = mix(static_cast<size_t>(e->kind) + 2, static_cast<size_t>(t.elem));
    h = mix(h, static_cast<size_t>(t.lanes));
    return visit(e, [&](const auto& node) { return mix(h, of_node(node)); });
  }
  size_t of(const Stmt& s) {
    if (!s) return 1;
    const size_t mark = numbers_.mark();
    const size_t h = visit(s, [&](const auto& node) {
      return mix(static_cast<size_t>(s->kind) + 101, of_node(node));
    });
    numbers_.back_to(mark);
    return h;
  }

 private:
  static size_t mix(size_t h, size_t value) {
    h ^= value + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdu;
  }
  void bind(const void* thing) { numbers_.set(thing, ++bound_); }
  size_t of_thing(const void* thing) const {
    const size_t* number = numbers_.find(thing);
    return number ? *number : std::hash<const void*>()(thing);
  }

  template <class T>
  size_t of_node(const T& node) {
    size_t h = 7;
    for_each_field(node, [&](const auto& field) { h = mix(h, of(field)); });
    return h;
  }
  size_t of_node(const VarNode& v) { return of_thing(&v); }
  size_t of_node(const FloatImm& f) {
    return std::isnan(f.value) ? 3 : std::hash<uint64_t>()(std::bit_cast<uint64_t>(f.value));
  }
  size_t of_node(const Alloc& a) {
    const size_t h = mix(static_cast<size_t>(a.buffer->elem), of(a.buffer->shape));
    bind(a.buffer.get());
    return mix(h, of(a.body));
  }
  size_t of_node(const ChannelScope& c) {
    bind(c.channel.get());
    return mix(static_cast<size_t>(c.channel->slots), of(c.body));
  }

  size_t of(const Var& v) {
    if (!v) return 5;
    bind(v.get());
    return 11;
  }
  size_t of(const Buffer& b) { return of_thing(b.get()); }
  size_t of(const Channel& c) { return of_thing(c.get()); }
  size_t of(const Reducer& r) { return r->lhs.size(); }
  size_t of(const Instruction& i) { return i->operands.size(); }
  template <class T>
  size_t of(const std::vector<T>& items) {
    size_t h = items.size();
    for (const T& item : items) h = mix(h, of(item));
    return h;
  }
  template <HasFields T>
  size_t of(const T& part) {
    return of_node(part);
  }
  size_t of(const Type& t) { return static_cast<size_t>(t.elem) * 8191 + t.lanes; }
  size_t of(const std::string& s) { return std::hash<std::string>()(s); }
  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  size_t of(T value) {
    return static_cast<size_t>(value);
  }

  ScopedMap<size_t> numbers_;
  size_t bound_ = 0;
};

}  // namespace

bool equal(const Expr& a, const Expr& b) { return Comparer().same(a, b); }
bool equal(const Stmt& a, const Stmt& b) { return Comparer().same(a, b); }
bool equal(const Region& a, const Region& b) { return Comparer().same(a, b); }
bool equal(const Reducer& a, const Reducer& b) { return Comparer().same(a, b); }
bool equal(const Instruction& a, const Instruction& b) { return Comparer().same(a, b); }
bool equal(const LoopFunc& a, const LoopFunc& b) { return Comparer().same(a, b); }
bool equal(const Unit& a, const Unit& b) {
  const auto all = [](const auto& x, const auto& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!equal(x[i], y[i])) return false;
    return true;
  };
  return all(a.reducers, b.reducers) && all(a.instructions, b.instructions) &&
         all(a.functions, b.functions);
}

size_t hash(const Expr& e) { return Hasher().of(e); }
size_t hash(const Stmt& s) { return Hasher().of(s); }

}  // namespace tilewright::ir
