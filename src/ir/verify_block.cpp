// SPDX-License-Identifier: Apache-2.0
// Blocks: what a step may rely on without looking into the body.
#include <unordered_set>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/verify_rules.h"
#include "support/str.h"

namespace tilewright::ir::detail {
namespace {

constexpr Parts kInitParts = {{StmtKind::Store, StmtKind::Seq, StmtKind::Let, StmtKind::If,
                               StmtKind::Block, StmtKind::InstrCall},
                              {ForKind::Serial, ForKind::Vectorized, ForKind::Unrolled}};

bool lists(const std::vector<Region>& regions, const BufferNode* buffer) {
  for (const Region& r : regions)
    if (r.buffer.get() == buffer) return true;
  return false;
}

bool has_reduction(const Block& block) {
  for (const BlockIter& it : block.iters)
    if (it.kind == IterKind::Reduction) return true;
  return false;
}

void check_header(const Block& block) {
  for (const BlockIter& it : block.iters) {
    if (const auto n = const_int(it.extent); n && *n < 0)
      fail("ir.verify.size", block.span,
           str("iterator ", quoted(it.var.name()), " of block ", quoted(block.name),
               " has the extent ", *n),
           {}, "use an extent of 0 or more");
    if (has_load(it.extent) || has_load(it.binding))
      fail("ir.verify.block_binding", block.span,
           str("iterator ", quoted(it.var.name()), " of block ", quoted(block.name),
               " depends on loaded data"),
           {"the instances of a block are known from the loops around it"},
           "bind the value by `let` around the block, or put it into the block's body");
  }
  for (const auto* regions : {&block.reads, &block.writes})
    for (const Region& r : *regions)
      for (const Range& range : r.ranges)
        if (has_load(range.min) || has_load(range.extent))
          fail("ir.verify.block_region", block.span,
               str("the region of ", quoted(r.buffer->name), " stated by block ",
                   quoted(block.name), " reads memory"),
               {"a region holds for all data"}, "state the whole range that can be reached");
}

/// The accesses of the block's init and body, nested blocks included, are declared.
void check_body(const Block& block) {
  std::unordered_set<const BufferNode*> own;  // allocated inside
  const bool must_update = has_reduction(block) && !block.opaque;

  const auto check = [&](const Stmt& root, bool init) {
    walk_paths(root, [&](const Stmt& s, const Path&) {
      if (const Alloc* alloc = s.as<Alloc>()) own.insert(alloc->buffer.get());
      if (init && !kInitParts.contains(s))
        fail("ir.verify.block_init", place(s->span, block.span),
             str(describe(s), " stands in the `init` of block ", quoted(block.name)),
             {"init only writes the first value of the results"},
             "write the identity with stores, and compute in the body");
      for_each_use(s, [&](const Use& use) {
        if (own.contains(use.buffer)) return;
        const std::string name = quoted(use.buffer->name);
        if (use.writes && !lists(block.writes, use.buffer))
          fail("ir.verify.block_region", place(use.at, block.span),
               str("block ", quoted(block.name), " writes ", name,
                   ", which its `writes` do not list"),
               {}, str("add the region of ", name, " to `writes`"));
        if (use.reads && !use.writes && !lists(block.reads, use.buffer))
          fail(
              "ir.verify.block_region", place(use.at, block.span),
              str("block ", quoted(block.name), " reads ", name, ", which its `reads` do not list"),
              {}, str("add the region of ", name, " to `reads`"));
        const InstrCall* call = s.as<InstrCall>();
        // A form other than update reads of its result only what it wrote itself.
        const bool reads_first = use.reads && (!call || call->form == InstrForm::Update);
        if (init && reads_first && lists(block.writes, use.buffer))
          fail("ir.verify.block_init", place(use.at, block.span),
               str("the `init` of block ", quoted(block.name), " reads ", name,
                   ", a result of the block"),
               {"init gives the results their first value"},
               "write a value that does not depend on it");
        const bool updates =
            s.as<Update>() || s.as<Atomic>() || (call && call->form == InstrForm::Update);
        if (!init && must_update && use.writes && !updates)
          fail("ir.verify.block_reduction", place(use.at, block.span),
               str("block ", quoted(block.name), " has reduction iterators, but ", describe(s),
                   " overwrites ", name),
               {"instances that differ in a reduction iterator may run in any order"},
               str("combine by an update (", use.buffer->name,
                   "[…] sum= …), make the iterator `ordered`, or the block opaque"));
      });
    });
  };
  if (block.init) check(block.init, true);
  check(block.body, false);
}

}  // namespace

void verify_blocks(const LoopFunc& func) {
  walk(func.body, [](const Block& block) {
    check_header(block);
    check_body(block);
  });
}

}  // namespace tilewright::ir::detail
