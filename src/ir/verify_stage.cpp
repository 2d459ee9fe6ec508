// SPDX-License-Identifier: Apache-2.0
// What may still occur at each stage (ir/README.md §1).
#include "ir/rewrite.h"
#include "ir/verify_rules.h"
#include "support/str.h"

namespace tilewright::ir::detail {
namespace {

struct StageRule {
  Parts parts;
  bool vectors;
  bool layouts;
  int max_rank;  // of every buffer; -1: any
};

constexpr int kAnyRank = -1;

/// One row per Stage.
const StageRule& rule_of(Stage stage) {
  static constexpr StageRule kRules[] = {
      {.parts = {{StmtKind::Store, StmtKind::Update, StmtKind::Seq, StmtKind::Let, StmtKind::Alloc,
                  StmtKind::While, StmtKind::If, StmtKind::Block},
                 {ForKind::Serial}},
       .vectors = false,
       .layouts = false,
       .max_rank = kAnyRank},
      {.parts = kAllParts, .vectors = true, .layouts = true, .max_rank = kAnyRank},
      {.parts = kAllParts.without({{StmtKind::Block, StmtKind::Update}, {ForKind::VThread}}),
       .vectors = true,
       .layouts = false,
       .max_rank = 1},
  };
  return kRules[static_cast<int>(stage)];
}

std::string remedy(Stage stage) {
  if (stage == Stage::Loops)
    return "state `stage scheduled`, or write the program with serial loops and blocks only";
  return "run the lowering passes before the function is called `final`, or state `stage "
         "scheduled`";
}

void check_buffer(const BufferNode& buffer, const Span& at, Stage stage) {
  const StageRule& rule = rule_of(stage);
  const Span& where = place(buffer.span, at);
  if (buffer.layout && !rule.layouts)
    fail("ir.verify.stage", where,
         str("buffer ", quoted(buffer.name), " has a layout function at stage `", name(stage), "`"),
         {stage == Stage::Final ? "a final function addresses memory by its physical index"
                                : "layouts are chosen by schedule steps"},
         remedy(stage));
  if (rule.max_rank != kAnyRank && buffer.rank() > rule.max_rank)
    fail("ir.verify.stage", where,
         str("buffer ", quoted(buffer.name), " has ", buffer.rank(), " dimensions at stage `",
             name(stage), "`"),
         {str("buffers of a final function have at most ", rule.max_rank, " dimension")},
         remedy(stage));
}

}  // namespace

void verify_stage(const LoopFunc& func) {
  const StageRule& rule = rule_of(func.stage);
  for (const Param& p : func.params) check_buffer(*p.buffer, func.span, func.stage);
  walk_paths(func.body, [&](const Stmt& s, const Path&) {
    if (!rule.parts.contains(s))
      fail("ir.verify.stage", s->span,
           str(describe(s), " may not occur at stage `", name(func.stage), "`"), {},
           remedy(func.stage));
    if (const Alloc* alloc = s.as<Alloc>()) check_buffer(*alloc->buffer, s->span, func.stage);
    if (!rule.vectors) {
      const auto check_lanes = [&](const Expr& e) {
        if (e.type().is_vector())
          fail("ir.verify.stage", place(e, s->span),
               str("a vector of type ", print(e.type()), " occurs at stage `", name(func.stage),
                   "`"),
               {str("in ", describe(s))}, remedy(func.stage));
      };
      for_each_child(
          s,
          [&](const Expr& e) {
            check_lanes(e);
            // A vector inside of a scalar is reduced over its lanes or stands in a mask.
            walk(e, [&](const VectorReduce& r) { check_lanes(r.value); });
          },
          [](const Stmt&) {});
    }
  });
}

}  // namespace tilewright::ir::detail
