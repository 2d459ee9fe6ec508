// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/lex.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::ir {
namespace {

/// Everything a statement mentions, and everything it binds.
class Mentions {
 public:
  struct Thing {
    const void* thing;
    std::string_view name;
  };

  void of(const Expr& e) {
    if (e) visit(e, [&](const auto& node) { fields_of(node); });
  }
  void of(const Stmt& s) {
    if (s) visit(s, [&](const auto& node) { fields_of(node); });
  }

  /// What is mentioned and bound nowhere, in the order of the first mention.
  std::vector<Thing> free() const {
    std::vector<Thing> out;
    std::unordered_set<const void*> seen = bound_;
    for (const Thing& t : mentioned_)
      if (seen.insert(t.thing).second) out.push_back(t);
    return out;
  }

 private:
  template <class T>
  void fields_of(const T& node) {
    if constexpr (std::is_same_v<T, Alloc>)
      define(node.buffer);
    else if constexpr (std::is_same_v<T, ChannelScope>)
      bound_.insert(node.channel.get());
    for_each_field(node, [&](const auto& field) { field_of(field); });
  }
  void fields_of(const VarNode& v) { mentioned_.push_back({&v, v.name}); }

  void define(const Buffer& b) {
    bound_.insert(b.get());
    for (const Expr& extent : b->shape) of(extent);
    if (b->layout) fields_of(*b->layout);
  }

  template <class F>
  void field_of(const F& field) {
    if constexpr (std::is_same_v<F, Expr> || std::is_same_v<F, Stmt>) {
      of(field);
    } else if constexpr (std::is_same_v<F, Var>) {
      bound_.insert(field.get());
    } else if constexpr (std::is_same_v<F, Buffer> || std::is_same_v<F, Channel>) {
      if (field) mentioned_.push_back({field.get(), field->name});
    } else if constexpr (HasFields<F>) {
      fields_of(field);
    }
  }
  template <class F>
  void field_of(const std::vector<F>& fields) {
    for (const F& field : fields) field_of(field);
  }

  std::vector<Thing> mentioned_;
  std::unordered_set<const void*> bound_;
};

}  // namespace

/// As close to `wanted` as can be: `7.out` gives `_7_out`.
std::string word(std::string_view wanted) {
  if (is_name(wanted)) return std::string(wanted);
  std::string name(wanted.substr(0, kMaxName - 1));
  for (char& c : name)
    if (!is_name(std::string_view(&c, 1)) && (c < '0' || c > '9')) c = '_';
  if (!is_name(name)) name.insert(0, "_");
  return name;
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) {
    if (!out.empty()) out += ", ";
    out += item;
  }
  return out;
}

std::string Namer::fresh(std::string_view wanted) {
  std::string base = word(wanted);
  if (is_reserved(base)) base += '_';
  std::string name = base;
  base.resize(std::min(base.size(), kMaxName - 20));  // leaves room for a number
  for (int i = 1; taken_.count(name) > 0; ++i) name = str(base, "_", i);
  return name;
}

std::string Namer::bind(const void* thing, std::string_view wanted) {
  std::string name = fresh(wanted);
  std::string& known = names_[thing];
  bound_.push_back({thing, name, known});
  known = name;
  taken_.insert(name);
  return name;
}

std::string Namer::name(const void* thing, std::string_view wanted) {
  std::string& known = names_[thing];
  if (known.empty()) {
    known = fresh(wanted);
    taken_.insert(known);
  }
  return known;
}

void Namer::back_to(size_t mark) {
  for (; bound_.size() > mark; bound_.pop_back()) {
    const Bound& last = bound_.back();
    taken_.erase(last.name);
    if (last.old.empty())
      names_.erase(last.thing);
    else
      names_[last.thing] = last.old;
  }
}

void Printer::name_free(const Expr& e) {
  Mentions mentions;
  mentions.of(e);
  for (const auto& [thing, name] : mentions.free()) names_.name(thing, name);
}

void Printer::name_free(const Stmt& s) {
  Mentions mentions;
  mentions.of(s);
  for (const auto& [thing, name] : mentions.free()) names_.name(thing, name);
}

}  // namespace tilewright::ir
