// SPDX-License-Identifier: Apache-2.0
#include "lower/to_instruction.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "lower/to_blocks.h"
#include "support/str.h"

namespace tilewright::lower {

using namespace ir;

namespace {

[[noreturn]] void refuse(const te::Program& meaning, std::string note, std::string help) {
  throw Error({.code = "lower.instruction.meaning",
               .message = str("`", meaning.name, "` cannot be the meaning of an instruction"),
               .notes = {std::move(note)},
               .help = std::move(help)});
}

/// The nest with another block; loops that `keep` rejects go, at their first iteration.
Stmt with_block(const Stmt& nest, FunctionRef<Stmt(const Block&)> change,
                FunctionRef<bool(const For&)> keep) {
  return rewrite(
      nest, [&](const Block& b, auto&) -> Stmt { return change(b); },
      [&](const For& loop, auto& self) -> Stmt {
        return keep(loop) ? self.children(loop) : substitute(self(loop.body), loop.var, loop.min);
      });
}

}  // namespace

Instruction to_instruction(const te::Program& meaning,
                           const std::vector<OperandDeclaration>& operands, std::string emit) {
  const LoopFunc func = to_blocks(meaning);
  const Block* block = nullptr;
  int blocks = 0;
  walk(func.body, [&](const Block& b) {
    block = &b;
    ++blocks;
  });
  if (blocks != 1) refuse(meaning, str("it has ", blocks, " stages"), "write it as one `compute`");
  BufferMap declared;
  for (const OperandDeclaration& o : operands) {
    const auto param = std::find_if(func.params.begin(), func.params.end(),
                                    [&](const Param& p) { return p.buffer->name == o.name; });
    if (param == func.params.end())
      refuse(meaning, str("it has no tensor `", o.name, "`"),
             "declare scope and layout for its inputs and outputs only");
    const BufferNode& b = *param->buffer;
    declared[param->buffer] =
        make_buffer(b.name, b.elem, b.shape, o.scope, o.layout, b.alignment, b.span);
  }
  auto out = std::make_shared<InstructionNode>();
  out->name = meaning.name;
  out->emit = std::move(emit);
  for (const bool result : {true, false})
    for (Param p : func.params) {
      if ((p.access != Access::In) != result) continue;
      if (const auto found = declared.find(p.buffer); found != declared.end())
        p.buffer = found->second;
      if (result && block->init) p.access = Access::InOut;
      out->operands.push_back(std::move(p));
    }
  const auto finished = [&](const Stmt& s) { return substitute_buffers(s, declared); };
  out->compute = finished(func.body);
  if (block->init) {
    const auto reduces = [&](const For& loop) {
      return std::any_of(block->iters.begin(), block->iters.end(), [&](const BlockIter& it) {
        return it.kind == IterKind::Reduction && uses(it.binding, loop.var);
      });
    };
    out->reset = finished(with_block(
        func.body,
        [](const Block& b) {
          return with(b, [](Block& r) {
            r.body = r.init;
            r.init = nullptr;
            r.reads.clear();
            std::erase_if(r.iters,
                          [](const BlockIter& i) { return i.kind == IterKind::Reduction; });
          });
        },
        [&](const For& loop) { return !reduces(loop); }));
    out->update = finished(with_block(
        func.body, [](const Block& b) { return with(b, [](Block& r) { r.init = nullptr; }); },
        [](const For&) { return true; }));
  }
  verify(*out);
  return Instruction(std::shared_ptr<const InstructionNode>(std::move(out)));
}

}  // namespace tilewright::lower
