// SPDX-License-Identifier: Apache-2.0
// Attributes of an operator: a plain struct per operator that lists its fields once.
//   struct SoftmaxAttrs {
//     int64_t axis = -1;
//     static constexpr auto fields = std::tuple{field("axis", &SoftmaxAttrs::axis)};
//   };
// Printing, parsing, comparison and what host operators are handed all come from the list.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <variant>
#include <vector>

#include "graph/constant.h"

namespace tilewright::graph {

using AttrValue = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>, Constant>;
struct NamedAttr {
  std::string name;
  AttrValue value;
};
using AttrList = std::vector<NamedAttr>;

template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::* member;
};
template <class Struct, class Member>
constexpr Field<Struct, Member> field(std::string_view name, Member Struct::* member) {
  return {name, member};
}

namespace detail {
template <class T>
AttrValue to_attr(const T& value) {
  if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
    return static_cast<int64_t>(value);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(value);
  else
    return value;
}
template <class T>
void from_attr(const AttrValue& value, T& out) {
  if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
    out = static_cast<T>(std::get<int64_t>(value));
  else if constexpr (std::is_floating_point_v<T>)
    out = static_cast<T>(std::get<double>(value));
  else
    out = std::get<T>(value);
}
}  // namespace detail

/// Operators without attributes.
struct NoAttrs {
  static constexpr std::tuple<> fields{};
};

/// The attributes of one call, whatever their struct.
class Attrs {
 public:
  Attrs() : Attrs(NoAttrs{}) {}
  template <class T>
    requires requires { T::fields; }
  Attrs(T value)
      : value_(std::make_shared<const T>(std::move(value))),
        type_(&typeid(T)),
        list_(&list_of<T>) {}

  template <class T>
  const T& as() const {
    require(*type_ == typeid(T), "the attributes are those of another operator");
    return *static_cast<const T*>(value_.get());
  }
  /// Every field with its name, in declared order.
  AttrList list() const { return list_(value_.get()); }

 private:
  template <class T>
  static AttrList list_of(const void* erased) {
    const T& value = *static_cast<const T*>(erased);
    AttrList out;
    std::apply(
        [&](const auto&... f) {
          (out.push_back({std::string(f.name), detail::to_attr(value.*f.member)}), ...);
        },
        T::fields);
    return out;
  }

  std::shared_ptr<const void> value_;
  const std::type_info* type_;
  AttrList (*list_)(const void*);
};

/// The struct with these values; an Error for a name it has not, or a value of another kind.
Attrs attrs_from_list(const struct OpDef& op, const AttrList& list);

/// Makes a T of a list; fields that are not listed keep their defaults. Returns the first name that
/// T has not, or an empty one.
template <class T>
std::string read_attrs(const AttrList& list, T& out) {
  for (const NamedAttr& attr : list) {
    bool found = false;
    std::apply(
        [&](const auto&... f) {
          ((f.name == attr.name ? (detail::from_attr(attr.value, out.*f.member), found = true)
                                : false),
           ...);
        },
        T::fields);
    if (!found) return attr.name;
  }
  return {};
}

/// `{axis = -1, pads = [0, 1]}`; nothing for an empty list.
std::string print(const AttrList& list);
bool same(const AttrList& a, const AttrList& b);

}  // namespace tilewright::graph
