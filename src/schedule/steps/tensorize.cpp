// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "ir/print.h"
#include "schedule/match.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::InstrForm;
using ir::Stmt;

/// One block on its way to become calls of one instruction.
class Tensorizer {
 public:
  Tensorizer(const ir::Block& block, const ir::Instruction& instruction,
             const arith::Context& context)
      : block_(block), instruction_(instruction), context_(context) {}

  /// {init, body}; the init is null where the block has none.
  std::pair<Stmt, Stmt> calls() const {
    if (block_.opaque) refuse({"it is opaque: only its regions are known"});
    std::string why_not;
    const auto nest = meaning_of(block_.body, context_, why_not);
    if (!nest) refuse({why_not});
    if (block_.init) {
      const auto init = meaning_of(block_.init, context_, why_not);
      if (!init || init->init) refuse({str("of its init: ", why_not)});
      if (nest->init) refuse({"it has an init of its own and one inside"});
      return reset_and_update(init->main, nest->main);
    }
    if (nest->init) return {Stmt(), whole_reduction(*nest)};
    const InstrForm form =
        nest->main.leaf.as<ir::Update>() ? InstrForm::Update : InstrForm::Compute;
    return {Stmt(), call(form, matched(form, nest->main).operands)};
  }

 private:
  [[noreturn]] void refuse(std::vector<std::string> notes) const {
    throw Error({.code = "schedule.tensorize.match",
                 .message = str("block `", block_.name, "` is not what instruction `",
                                instruction_->name, "` does"),
                 .notes = std::move(notes),
                 .help = "bring the loops to the instruction's shape (split, reorder) and its "
                         "operands to their scope and layout (cache_read, cache_write, "
                         "transform_layout), or name another instruction"});
  }

  std::string form_name(InstrForm form) const {
    return str("form `", ir::name(form), "` of instruction `", instruction_->name, "`");
  }

  NestMeaning form_meaning(InstrForm form) const {
    const Stmt& body = instruction_->form(form);
    if (!body) refuse({str("there is no ", form_name(form))});
    std::string why_not;
    const auto meaning = meaning_of(body, arith::Context(), why_not);
    if (!meaning) refuse({str("the ", form_name(form), " cannot be matched: ", why_not)});
    return *meaning;
  }

  Match matched(InstrForm form, const Meaning& nest) const {
    const NestMeaning meaning = form_meaning(form);
    if (meaning.init)
      refuse({str("the ", form_name(form), " starts a reduction, the block does not")});
    Match m = match(*instruction_, meaning.main, nest, context_);
    if (!m.reason.empty()) refuse({str("of the ", form_name(form), ": ", m.reason)});
    return m;
  }

  /// The operands of `terms`, when those of `init` are among them.
  std::vector<ir::Region> both(const Match& init, const Match& terms) const {
    for (size_t i = 0; i < init.operands.size(); ++i) {
      const ir::Region &a = init.operands[i], &b = terms.operands[i];
      if (!a.buffer) continue;
      bool same = b.buffer == a.buffer;
      for (size_t d = 0; same && d < a.ranges.size(); ++d)
        same = context_.can_prove_equal(a.ranges[d].min, b.ranges[d].min);
      if (!same)
        refuse({str("operand `", instruction_->operands[i].buffer->name,
                    "` is another region in the init, `", ir::print(a), "`")});
    }
    return terms.operands;
  }

  std::pair<Stmt, Stmt> reset_and_update(const Meaning& init, const Meaning& terms) const {
    const Match update = matched(InstrForm::Update, terms);
    const std::vector<ir::Region> operands = both(matched(InstrForm::Reset, init), update);
    return {call(InstrForm::Reset, operands), call(InstrForm::Update, operands)};
  }

  /// `compute` where it is written as an init and its terms, else `reset` and `update`.
  Stmt whole_reduction(const NestMeaning& nest) const {
    const NestMeaning compute = form_meaning(InstrForm::Compute);
    if (!compute.init) {
      const auto [reset, update] = reset_and_update(*nest.init, nest.main);
      return ir::seq({reset, update});
    }
    const Match init = match(*instruction_, *compute.init, *nest.init, context_);
    const Match terms = match(*instruction_, compute.main, nest.main, context_);
    for (const Match* m : {&terms, &init})
      if (!m->reason.empty())
        refuse({str("of the ", form_name(InstrForm::Compute), ": ", m->reason)});
    return call(InstrForm::Compute, both(init, terms));
  }

  Stmt call(InstrForm form, const std::vector<ir::Region>& operands) const {
    for (size_t i = 0; i < operands.size(); ++i)
      if (!operands[i].buffer)
        refuse({str("nothing in the block stands for operand `",
                    instruction_->operands[i].buffer->name, "`")});
    return ir::make_stmt<ir::InstrCall>(block_.span, instruction_, form, operands);
  }

  const ir::Block& block_;
  const ir::Instruction& instruction_;
  const arith::Context& context_;
};

}  // namespace

Results Tensorize::apply(Program& program) const {
  const ir::Instruction wanted = program.instruction(instruction);
  std::string block_name;
  if (program.is_loop(nest)) {
    block_name = std::get<BlockResult>(Blockize{{nest.name}}.apply(program)[0]).name;
  } else {
    block_name = program.block({nest.name}).name;
  }
  const ir::Block& block = *program.find_block(block_name);
  // What a call names are the block's iterators; the loops that bind them may change later.
  arith::Context context(program.func());
  for (const ir::BlockIter& it : block.iters) context.bind(it.var, 0, it.extent);
  const auto [init, body] = Tensorizer(block, wanted, context).calls();
  program.replace(block, ir::with(block, [&](ir::Block& b) {
                    b.init = init;
                    b.body = body;
                  }));
  return {BlockResult{block_name}};
}

}  // namespace tilewright::schedule
