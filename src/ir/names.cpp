// SPDX-License-Identifier: Apache-2.0
#include "ir/names.h"

#include "support/str.h"

namespace tilewright::ir {
namespace {

std::string_view kind_of(const Named& thing) {
  constexpr std::string_view kKinds[] = {"a variable", "a buffer", "a channel"};
  return kKinds[thing.index()];
}

template <class Kind>
const Kind& as(const Cursor& cursor, const Token& name, const Named& thing, std::string_view wanted,
               std::string_view help) {
  const Kind* found = std::get_if<Kind>(&thing);
  if (!found)
    cursor.fail("ir.parse.kind", name,
                str("`", name.text, "` is ", kind_of(thing), ", not ", wanted), std::string(help));
  return *found;
}

}  // namespace

void Names::declare(const Cursor& cursor, const Token& name, Named thing) {
  if (const auto known = names_.find(name.text); known != names_.end())
    cursor.fail("ir.parse.duplicate", name, str("`", name.text, "` is already in use"),
                "give one of them another name",
                {str("`", name.text, "` names ", kind_of(known->second.thing),
                     known->second.line > 0 ? str(" from line ", known->second.line) : "")});
  order_.push_back(std::make_unique<std::string>(name.text));
  names_.emplace(*order_.back(), Entry{std::move(thing), name.line});
}

const Named* Names::find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &found->second.thing;
}

const Named& Names::get(const Cursor& cursor, const Token& name) const {
  if (const Named* found = find(name.text)) return *found;
  std::vector<std::string_view> known;
  for (const auto& entry : order_) known.push_back(*entry);
  const std::string_view near = closest(name.text, known);
  cursor.fail("ir.parse.name", name, str("nothing here is named `", name.text, "`"),
              near.empty() ? "declare it before it is used" : str("did you mean `", near, "`?"));
}

Var Names::var(const Cursor& cursor, const Token& name) const {
  return as<Var>(cursor, name, get(cursor, name), "a variable",
                 "an element of a buffer is `b[i]`, and `b[]` where it has no dimension");
}

Buffer Names::buffer(const Cursor& cursor, const Token& name) const {
  return as<Buffer>(cursor, name, get(cursor, name), "a buffer", "name a parameter or an `alloc`");
}

Channel Names::channel(const Cursor& cursor, const Token& name) const {
  return as<Channel>(cursor, name, get(cursor, name), "a channel", "name a `channel` in scope");
}

void Names::back_to(size_t mark) {
  for (; order_.size() > mark; order_.pop_back()) names_.erase(*order_.back());
}

}  // namespace tilewright::ir
