// SPDX-License-Identifier: Apache-2.0
// The rules of blocks and instruction operands.
#include <algorithm>

#include "ir/interpret/machine.h"
#include "ir/interpret/pure.h"
#include "support/str.h"

namespace tilewright::ir::run {

/// Which reduction into its elements the instance belongs to; `init` begins another one. Counted
/// with the elements: of the parts of a block that `partition` cut, one runs the `init` of all.
uint32_t Machine::start_of_reduction(Task& t, const BlockInfo& info, bool init) {
  Instance& m = *t.slots[static_cast<size_t>(info.target_slot)];
  if (m.starts.empty()) m.starts.resize(static_cast<size_t>(m.size));
  const auto& ranges = info.target.ranges;
  int64_t first = 0;
  box_.clear();
  for (size_t d = 0; d < ranges.size(); ++d) {
    const int64_t min = as_int(t.r[ranges[d].first]);
    // Empty, or outside of the buffer: what it then accesses is refused.
    if (min < 0 || min >= m.shape[d]) return 0;
    box_.push_back(std::min(as_int(t.r[ranges[d].second]), m.shape[d] - min));
    if (box_.back() <= 0) return 0;
    first += min * m.strides[d];
  }
  if (init) {
    at_.assign(box_.size(), 0);
    for (bool more = true; more;) {
      int64_t element = first;
      for (size_t d = 0; d < at_.size(); ++d) element += at_[d] * m.strides[d];
      ++m.starts[static_cast<size_t>(element)];
      more = false;
      for (size_t d = at_.size(); d-- > 0 && !more;) {
        more = ++at_[d] < box_[d];
        if (!more) at_[d] = 0;
      }
    }
  }
  return m.starts[static_cast<size_t>(first)];
}

void Machine::enter_block(Task& t, const BlockInfo& info, int32_t number) {
  if (!check_) return;
  const Block& b = *info.block;
  point_.clear();
  extents_.clear();
  for (size_t i = 0; i < info.iters.size(); ++i) {
    const int64_t v = as_int(t.r[info.iters[i].first]);
    const int64_t extent = as_int(t.r[info.iters[i].second]);
    if (v < 0 || v >= extent) {
      const std::string& iter = b.iters[static_cast<size_t>(info.order[i])].var.name();
      fail("ir.run.domain", &b, str("block `", b.name, "` runs with `", iter, " = ", v, "`"),
           {str("`", iter, "` has the domain 0..", extent), str("in ", name_of(t))},
           "bind the iterator inside its domain, or exclude the instance by `where`");
    }
    point_.push_back(v);
    extents_.push_back(extent);
  }
  if (!info.once) return;
  RunSets& sets = info.home_slot >= 0 ? t.slots[static_cast<size_t>(info.home_slot)]->runs
                                      : *activations_[t.r[info.home_activation]];
  auto set = std::find_if(sets.begin(), sets.end(),
                          [&](const RunSet& s) { return s.is_for(number, extents_); });
  if (set == sets.end()) {
    sets.emplace_back(number, extents_, info.reductions);
    set = sets.end() - 1;
  }
  const auto first_reduction = point_.end() - static_cast<std::ptrdiff_t>(info.reductions);
  const bool init = std::all_of(first_reduction, point_.end(), [](int64_t v) { return v == 0; });
  set->of_start(point_, start_of_reduction(t, info, init));
  if (set->insert(point_)) return;
  std::string at;
  for (size_t i = 0; i < point_.size(); ++i)
    at += str(i ? ", " : "", b.iters[static_cast<size_t>(info.order[i])].var.name(), " = ",
              point_[i]);
  fail("ir.run.instance", &b,
       str("an instance of block `", b.name, "` runs twice without its `init`"),
       {str("it is ", at), str("in ", name_of(t))},
       "bind the iterators so that every instance runs once after the `init` of its reduction");
}

void Machine::check_region(Task& t, const RegionInfo& info) {
  for (int32_t l = 0; l < info.lanes; ++l) {
    if (info.mask.reg != kNoReg && !t.r[info.mask.reg + l * info.mask.stride]) continue;
    const auto index = [&](int32_t d) {
      const Operand& o = program_.operands[static_cast<size_t>(info.first + d)];
      return as_int(t.r[o.reg + l * o.stride]);
    };
    bool inside = false;
    for (const Box& box : info.boxes) {
      inside = true;
      for (int32_t d = 0; d < info.rank && inside; ++d) {
        const auto [min, extent] = box.ranges[static_cast<size_t>(d)];
        const int64_t first = as_int(t.r[min]);
        inside = index(d) >= first && index(d) - first < as_int(t.r[extent]);
      }
      if (inside) break;
    }
    if (inside) continue;
    std::string at;
    for (int32_t d = 0; d < info.rank; ++d) at += str(d ? ", " : "", index(d));
    const char* const list = info.write ? "writes" : "reads";
    std::vector<std::string> notes;
    for (const Box& box : info.boxes) {
      std::string text;
      for (const auto& [min, extent] : box.ranges)
        text += str(text.empty() ? "" : ", ", as_int(t.r[min]), " +: ", as_int(t.r[extent]));
      notes.push_back(str("it declares `", info.buffer->name, "[", text, "]`"));
    }
    if (notes.empty()) notes.push_back(str("it declares no region of `", info.buffer->name, "`"));
    notes.push_back(str("in ", name_of(t)));
    fail("ir.run.region", stmt_at(t),
         str("block `", info.block->name, "` ", list, " `", info.buffer->name, "[", at,
             "]`, which is not in its ", list),
         std::move(notes), str("declare the region, or keep the access inside of it"));
  }
}

void Machine::check_operand(Task& t, const Inst& i) {
  const BufferNode& operand = *program_.instr_operands[static_cast<size_t>(i.c)];
  const int64_t a = as_int(t.r[i.a]), b = as_int(t.r[i.b]);
  if (i.op == Op::CheckExtent) {
    if (a == b) return;
    fail("ir.run.instr", stmt_at(t),
         str("a region of ", a, " elements is given for operand `", operand.name, "`"),
         {str("the operand has ", b, " elements in that dimension")},
         "give the region as many elements in each dimension as the operand has");
  }
  if (a >= 0 && a < b) return;
  fail("ir.run.bounds", stmt_at(t), str("index ", a, " is outside of operand `", operand.name, "`"),
       {str("the operand has ", b, " elements in that dimension"), str("in ", name_of(t))},
       "keep the accesses of an instruction's body inside its operands");
}

}  // namespace tilewright::ir::run
