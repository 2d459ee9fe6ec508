// SPDX-License-Identifier: Apache-2.0
// Calls of hardware instructions: C has none, so each becomes its meaning in braces of its own,
// with the operands as pointers to where they begin.
#include "ir/build.h"
#include "lower/pipeline.h"
#include "support/str.h"
#include "target/c_source/emitter.h"
#include "target/c_source/types.h"

namespace tilewright::target::c_source {

namespace {

/// One form of an instruction as a `final` function of its operands.
ir::LoopFunc meaning_of(const ir::InstrCall& s) {
  ir::LoopFunc func;
  func.name = s.instr->name;
  func.params = s.instr->operands;
  func.body = s.instr->form(s.form);
  func.stage = ir::Stage::Scheduled;
  func.span = s.instr->span;
  lower::PassContext context;
  return lower::run(lower::cpu_pipeline(), func, context);
}

}  // namespace

void Emitter::emit(const ir::InstrCall& s) {
  const ir::LoopFunc meaning = meaning_of(s);
  const NameScope scope(frame_->names);
  Lines operands;
  const Lines body = lines_of([&] {
    for (size_t i = 0; i < s.operands.size(); ++i) {
      Place place = place_of(s.operands[i].buffer);
      place.name = frame_->names.take(s.instr->operands[i].buffer->name);
      place.is_variable = place.is_read = place.is_written = false;
      if (is_packed(place.root->elem) && !place.holds_values)
        place.offset = frame_->names.take(place.name + "_at");
      frame_->places.insert_or_assign(meaning.params[i].buffer, place);
    }
    stmt(meaning.body);
  });
  out_->open("");
  out_->line(str("/* ", s.instr->name, ".", ir::name(s.form), " */"));
  for (size_t i = 0; i < s.operands.size(); ++i) {
    const Place& operand = frame_->places.at(meaning.params[i].buffer);
    if (!operand.is_read && !operand.is_written) continue;
    const ir::Region& region = s.operands[i];
    Place& whole = place_of(region.buffer);
    whole.is_read = true;  // its address is taken
    whole.is_written = whole.is_written || operand.is_written;
    std::vector<ir::Expr> at;
    for (const ir::Range& r : region.ranges) at.push_back(r.min);
    const ir::Elem elem = whole.root->elem;
    const std::string type = str(operand.is_written ? "" : "const ",
                                 whole.holds_values ? value_type(elem) : memory_type(elem), "* ");
    if (operand.offset.empty()) {
      out_->line(str(type, operand.name, " = ", address(whole, at), ";"));
    } else {
      const std::string first = at.empty() ? "0" : expr(at[0]).s;
      out_->line(str(type, operand.name, " = ", whole.name, ";"));
      out_->line(str("const int64_t ", operand.offset, " = ",
                     whole.offset.empty() ? first : whole.offset + " + " + first, ";"));
    }
  }
  out_->append(body);
  out_->close();
}

}  // namespace tilewright::target::c_source
