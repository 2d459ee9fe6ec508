// SPDX-License-Identifier: Apache-2.0
// Types of buffers: element, extents, scope, alignment, layout.
#include "ir/parse_stmt.h"

namespace tilewright::ir {

Buffer StmtParser::buffer(const Token& name) {
  const Elem elem = exprs_.elem();
  cursor_.expect("[", "before the extents");
  std::vector<Expr> shape = exprs_.exprs("]");
  Scope where = scope();
  int64_t alignment = 0;
  const bool aligned = cursor_.at("align") && cursor_.peek_next().kind == TokenKind::Int;
  if (aligned && cursor_.accept("align")) alignment = cursor_.expect_int("the alignment", 1);
  Layout places;
  if (cursor_.at("layout") && cursor_.next_is("(")) {
    const Token at = cursor_.peek();
    places = layout();
    if (places->indices.size() != shape.size())
      cursor_.fail("ir.type.layout", at,
                   str("the layout has ", places->indices.size(), " indices, the buffer ",
                       shape.size(), " dimensions"),
                   "name one index for each dimension");
  }
  return checked(cursor_, name, [&] {
    return make_buffer(std::string(name.text), elem, std::move(shape), std::move(where),
                       std::move(places), alignment, cursor_.span(name));
  });
}

/// A word that is followed by `[` or `@` is a buffer of the next statement instead.
Scope StmtParser::scope() {
  if (cursor_.at(TokenKind::String)) return {ScopeKind::Named, cursor_.expect_string("the scope")};
  if (cursor_.peek().kind != TokenKind::Name) return {};
  if (cursor_.next_is(".")) {
    const Token target = cursor_.next();
    cursor_.next();
    return {ScopeKind::Named, str(target.text, ".", cursor_.expect_word("a scope").text)};
  }
  if (cursor_.next_is("[") || cursor_.next_is("@")) return {};
  for (int i = 0; i < static_cast<int>(ScopeKind::Named); ++i) {
    const Scope known{static_cast<ScopeKind>(i), ""};
    if (cursor_.accept(print(known))) return known;
  }
  return {};
}

Layout StmtParser::layout() {
  const Token at = cursor_.expect("layout", "before the indices of a layout");
  cursor_.expect("(", "after `layout`");
  const NameScope scope(names_);
  auto out = std::make_shared<LayoutNode>();
  std::vector<std::pair<Token, Var>> vars;
  while (cursor_.peek().kind == TokenKind::Name) {
    const Token name = cursor_.expect_name("an index");
    vars.push_back({name, Var(std::string(name.text), kIndex, cursor_.span(name))});
    out->indices.push_back(vars.back().second);
    if (!cursor_.accept(",")) break;
  }
  if (cursor_.accept(";")) {
    const auto [name, count] = counted("the replica");
    out->replica = Var(std::string(name.text), kIndex, cursor_.span(name));
    out->replicas = count;
    vars.push_back({name, out->replica});
  }
  cursor_.expect(")", "after the indices");
  cursor_.expect("->", "after the indices");
  cursor_.expect("[", "before the places");
  {
    const NameScope inside(names_);
    for (auto& [name, var] : vars) names_.declare(cursor_, name, var);
    while (!cursor_.at("]")) {
      PhysDim dim;
      dim.kind = one_of("the kind of the dimension",
                        {PhysKind::Address, PhysKind::Lane, PhysKind::Register});
      cursor_.expect(":", "after the kind of the dimension");
      dim.index = exprs_.expr();
      out->dims.push_back(std::move(dim));
      if (!cursor_.accept(",")) break;
    }
    cursor_.expect("]", "after the places");
  }
  const Token extents_at = cursor_.expect("extents", "after the places");
  cursor_.expect("[", "after `extents`");
  const std::vector<Expr> extents = exprs_.exprs("]");
  if (extents.size() != out->dims.size())
    cursor_.fail(
        "ir.type.layout", extents_at,
        str("the layout has ", out->dims.size(), " dimensions and ", extents.size(), " extents"),
        "give one extent for each dimension");
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i].type() != kIndex || out->dims[i].index.type() != kIndex)
      cursor_.fail("ir.type.layout", at, "the places and extents of a layout are i64",
                   "cast with `i64(x)`");
    out->dims[i].extent = extents[i];
  }
  if (cursor_.at("pad") && cursor_.peek_next().kind == TokenKind::Name) {
    cursor_.next();
    if (cursor_.accept("zero"))
      out->padding = Padding::Zero;
    else
      cursor_.expect("undefined", "or `zero` after `pad`");
  }
  return Layout(std::shared_ptr<const LayoutNode>(std::move(out)));
}

}  // namespace tilewright::ir
