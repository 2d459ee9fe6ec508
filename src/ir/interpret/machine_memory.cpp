// SPDX-License-Identifier: Apache-2.0
// Arguments, allocations and accesses.
#include <algorithm>
#include <numeric>

#include "ir/interpret/machine.h"
#include "ir/interpret/pure.h"
#include "support/str.h"

namespace tilewright::ir::run {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 47;
constexpr int64_t kMostCells = int64_t{1} << 28;  // alive at once; 8 bytes each

std::string list(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += str(i ? ", " : "", values[i]);
  return text + "]";
}

/// The number of elements, or nothing when it is negative or more than 2^47 bytes.
std::optional<int64_t> checked_size(const std::vector<int64_t>& shape, Elem elem) {
  int64_t size = 1;
  for (const int64_t e : shape)
    if (e < 0) return std::nullopt;
  for (const int64_t e : shape)
    if (e == 0) return 0;
  for (const int64_t e : shape)
    if (__builtin_mul_overflow(size, e, &size) || size > kMostBytes * 8 / bits(elem))
      return std::nullopt;
  return size;
}

}  // namespace

void Machine::bind_arguments(Task& t, std::vector<Array>& args,
                             const std::vector<int64_t>& symbols) {
  const auto wrong = [&](std::string_view code, const Span& at, std::string message,
                         std::string help) {
    throw Error({.code = code, .at = at, .message = std::move(message), .help = std::move(help)});
  };
  if (symbols.size() != func_.symbols.size())
    wrong("ir.run.symbol", func_.span,
          str("`", func_.name, "` has ", func_.symbols.size(), " symbols and is given ",
              symbols.size(), " values"),
          "give one value per symbol, in declared order");
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& s = func_.symbols[i];
    const int64_t v = symbols[i];
    if (v < s.min || v > s.max || (s.divisor != 0 && v % s.divisor != 0))
      wrong("ir.run.symbol", s.var->span, str("symbol `", s.var.name(), "` cannot be ", v),
            str("give a multiple of ", s.divisor, " between ", s.min, " and ", s.max));
    t.r[program_.symbol_regs[i]] = static_cast<uint64_t>(v);
  }
  for (int32_t pc = 0; pc + 1 < program_.body; ++pc) {
    const Inst& i = program_.code[static_cast<size_t>(pc)];
    if (i.op > Op::LastPure)
      wrong("ir.run.argument", func_.span, "the shape of a parameter reads memory",
            "use symbols and constants only");
    pure(i, t.r);
  }
  if (args.size() != func_.params.size())
    wrong("ir.run.argument", func_.span,
          str("`", func_.name, "` has ", func_.params.size(), " parameters and is given ",
              args.size(), " arrays"),
          "give one array per parameter");
  for (size_t i = 0; i < args.size(); ++i) {
    const Param& p = func_.params[i];
    const BufferNode& buffer = *p.buffer;
    Array& array = args[i];
    std::vector<int64_t> shape;
    for (const Reg reg : program_.param_shapes[i]) shape.push_back(as_int(t.r[reg]));
    const std::optional<int64_t> size = checked_size(shape, buffer.elem);
    if (!size)
      wrong("ir.run.size", buffer.span,
            str("`", buffer.name, "` would have the shape ", list(shape)),
            "an extent must not be negative, and a buffer has at most 2^47 bytes");
    if (array.elem != buffer.elem || array.shape != shape || array.size() != *size)
      wrong("ir.run.argument", buffer.span,
            str("`", buffer.name, "` is ", name(buffer.elem), list(shape), ", the array ",
                name(array.elem), list(array.shape)),
            "give an array of the parameter's element type and shape");
    if (is_float(buffer.elem) && array.arithmetic != program_.arithmetic)
      wrong("ir.run.argument", buffer.span,
            str("the array for `", buffer.name, "` was made for the other arithmetic"),
            "make the arrays with the arithmetic of the run");
    instances_.push_back(std::make_unique<Instance>());
    Instance& m = *instances_.back();
    m.buffer = &buffer;
    m.set_shape(shape);
    m.cells = array.cells.data();
    if (buffer.layout) {
      Values vars;
      for (size_t k = 0; k < symbols.size(); ++k)
        vars.emplace_back(func_.symbols[k].var.as<VarNode>(), symbols[k]);
      m.layout = layout_of(buffer, shape, vars);
    }
    if (p.access == Access::Out) {
      m.own_written.assign(static_cast<size_t>(m.size), 0);
      m.written = m.own_written.data();
    }
    t.slots[i] = &m;
  }
}

void Machine::check_outputs(const Task& t) const {
  for (size_t i = 0; i < func_.params.size(); ++i) {
    const Instance& m = *t.slots[i];
    if (func_.params[i].access != Access::Out) continue;
    const auto at = std::find(m.own_written.begin(), m.own_written.end(), 0);
    if (at == m.own_written.end()) continue;
    const auto count = std::count(at, m.own_written.end(), 0);
    throw Error(
        {.code = "ir.run.unwritten",
         .at = m.buffer->span,
         .message = str("`", element_name(m, at - m.own_written.begin()), "` is not written"),
         .notes = {str("`", m.buffer->name, "` is an `out` parameter; ", count, " of its ", m.size,
                       " elements have no value at the end")},
         .help = "write every element, or declare the parameter `inout`"});
  }
}

const LayoutTable* Machine::layout_of(const BufferNode& buffer, const std::vector<int64_t>& shape,
                                      const Values& vars) {
  std::vector<int64_t> key = shape;
  key.push_back(bits(buffer.elem));
  for (const auto& [var, value] : vars) key.push_back(value);
  for (const KnownLayout& k : layouts_)
    if (k.layout == buffer.layout.get() && k.key == key) return k.table.get();
  layouts_.push_back({buffer.layout.get(), std::move(key),
                      std::make_unique<LayoutTable>(tabulate(buffer, shape, vars))});
  return layouts_.back().table.get();
}

Instance& Machine::new_instance(const AllocInfo& info, std::vector<int64_t> shape,
                                const LayoutTable* layout) {
  if (idle_instances_.empty()) {
    instances_.push_back(std::make_unique<Instance>());
    idle_instances_.push_back(instances_.back().get());
  }
  Instance& m = *idle_instances_.back();
  idle_instances_.pop_back();
  m.buffer = info.buffer;
  m.alloc = &info;
  m.set_shape(std::move(shape));
  m.layout = layout;
  m.own_cells.resize(static_cast<size_t>(m.size));
  m.own_written.assign(static_cast<size_t>(m.size), 0);
  m.cells = m.own_cells.data();
  m.written = m.own_written.data();
  m.team = nullptr;
  m.left = 0;
  m.borrowed = 0;
  m.ended = false;
  m.begun = false;
  cells_ += m.size;
  return m;
}

void Machine::alloc(Task& t, const AllocInfo& info) {
  std::vector<int64_t> shape;
  shape.reserve(info.shape.size());
  for (const Reg reg : info.shape) shape.push_back(as_int(t.r[reg]));
  const BufferNode& buffer = *info.buffer;
  const std::optional<int64_t> size = checked_size(shape, buffer.elem);
  if (!size)
    fail("ir.run.size", stmt_at(t), str("`", buffer.name, "` would have the shape ", list(shape)),
         {}, "an extent must not be negative, and a buffer has at most 2^47 bytes");
  if (cells_ + *size > kMostCells)
    fail("ir.run.limit", stmt_at(t),
         str("`", buffer.name, "` of ", *size, " elements does not fit the interpreter's memory"),
         {str("it holds at most ", kMostCells, " elements at once")}, "use smaller sizes");
  const LayoutTable* layout = nullptr;
  if (buffer.layout) {
    Values vars;
    for (const auto& [var, reg] : info.layout_vars) vars.emplace_back(var, as_int(t.r[reg]));
    layout = layout_of(buffer, shape, vars);
  }
  Instance*& slot = t.slots[static_cast<size_t>(info.slot)];
  if (info.share == Share::Task) {
    slot = &new_instance(info, std::move(shape), layout);
    return;
  }
  Team& team = team_for(t, info.share);
  const uint32_t execution = t.executions[static_cast<size_t>(info.site)]++;
  const int64_t part = part_for(t, info.share);
  Instance*& m = team.instances[{info.site, execution, part}];
  if (!m) {
    m = &new_instance(info, shape, layout);
    m->team = &team;
    m->execution = execution;
    m->part = part;
  }
  if (!m->begun) {
    m->begun = true;
    m->beginning = t.now();
  }
  if (m->shape != shape)
    fail("ir.run.size", stmt_at(t),
         str("threads that share `", buffer.name, "` give it different shapes"),
         {str(name_of(t), " makes it ", list(shape), ", another thread ", list(m->shape))},
         "let the shape of a shared buffer not depend on the thread");
  slot = m;
}

void Machine::free(Task& t, const AllocInfo& info) {
  Instance& m = *t.slots[static_cast<size_t>(info.slot)];
  if (check_ && (info.share != Share::Task || !m.users.empty())) m.leavers.join(publish(t));
  if (info.share != Share::Task) {
    if (++m.left < sharers(t, *m.team, info.share)) return;
    // The place stays taken: another block that comes too late must not find a new instance.
    m.team->instances[{info.site, m.execution, m.part}] = nullptr;
  }
  if (check_) check_lifetime(m, t);
  m.ended = true;
  if (m.borrowed == 0) drop(m);
}

void Machine::drop(Instance& m) {
  cells_ -= m.size;
  m.shadow.reset();
  m.runs.clear();
  m.starts.clear();
  m.users.clear();
  m.leavers = {};
  idle_instances_.push_back(&m);
}

Instance& Machine::instance(Task& t, const AccessInfo& a) {
  Instance& own = *t.slots[static_cast<size_t>(a.slot)];
  if (a.peer == kNoReg) return own;
  const int64_t rank = as_int(t.r[a.peer]);
  if (!own.team || own.alloc->share != Share::Block)
    fail("ir.run.bounds", stmt_at(t), str("`", a.buffer->name, "@", rank, "` does not exist"),
         {str("`", a.buffer->name, "` is not a buffer of one block among others")},
         "name another block's buffer only if it is `shared` and allocated inside the cluster");
  Team& peer = peer_of(t, rank, str("`", a.buffer->name, "@", rank, "`"));
  if (&peer == own.team) return own;
  const auto [at, added] =
      peer.instances.try_emplace({own.alloc->site, own.execution, own.part}, nullptr);
  Instance*& m = at->second;
  if (!m && !added)
    fail("ir.run.race", stmt_at(t),
         str("race on `", a.buffer->name, "@", rank, "` with the end of the buffer"),
         {str(name_of(t), " uses it", where(stmt_at(t))), str("block ", rank, " has left it")},
         "meet the other block at a barrier before the buffer ends");
  if (!m) {  // the other block has not come to its allocation yet
    m = &new_instance(*own.alloc, own.shape, own.layout);
    m->team = &peer;
    m->execution = own.execution;
    m->part = own.part;
  }
  return *m;
}

Machine::Location Machine::locate(Task& t, const AccessInfo& a, int lane) {
  Instance& m = instance(t, a);
  const int64_t at = element(t, a, lane, m);
  if (check_ && a.peer != kNoReg && &m != t.slots[static_cast<size_t>(a.slot)]) {
    check_begun(t, m, at, as_int(t.r[a.peer]));
    note_user(m, {t.now(), t.pc}, at);
  }
  return {m, at};
}

int64_t Machine::element(Task& t, const AccessInfo& a, int lane, const Instance& m) {
  int64_t at = 0;
  const Operand* const index = program_.operands.data() + a.first;
  for (int32_t d = 0; d < a.rank; ++d) {
    const int64_t v = as_int(t.r[index[d].reg + lane * index[d].stride]);
    if (v < 0 || v >= m.shape[static_cast<size_t>(d)]) {
      std::vector<int64_t> point;
      for (int32_t k = 0; k < a.rank; ++k)
        point.push_back(as_int(t.r[index[k].reg + lane * index[k].stride]));
      std::vector<std::string> notes = {
          str("`", m.buffer->name, "` has the shape ", list(m.shape))};
      if (a.lanes > 1) notes.push_back(str("in lane ", lane));
      notes.push_back(str("in ", name_of(t)));
      fail("ir.run.bounds", stmt_at(t),
           str("`", m.buffer->name, list(point), "` is outside of the buffer"), std::move(notes),
           "keep the index in range, or guard the access");
    }
    at += v * m.strides[static_cast<size_t>(d)];
  }
  return at;
}

uint64_t Machine::load(Task& t, const AccessInfo& a, int lane) {
  if (a.mask.reg != kNoReg && !t.r[a.mask.reg + lane * a.mask.stride]) return 0;
  const auto [m, at] = locate(t, a, lane);
  if (!a.in_instruction) check_lane(t, m, at, false);
  if (a.race_checked && concurrent_ > 0) note_read(t, m, at);
  if (m.written && !m.written[at]) note_unwritten(t, m, at, a.race_checked);
  return m.cells[at];
}

void Machine::store(Task& t, const AccessInfo& a, int lane, uint64_t value) {
  if (a.mask.reg != kNoReg && !t.r[a.mask.reg + lane * a.mask.stride]) return;
  const auto [m, at] = locate(t, a, lane);
  if (!a.in_instruction) check_lane(t, m, at, true);
  if (a.race_checked && concurrent_ > 0) {
    note_write(t, m, at);
    if (bits(m.buffer->elem) < 8) note_packed_write(t, m, at);
  }
  if (a.delivers && t.async->bytes == kNoReg) t.bits += bits(m.buffer->elem);
  if (m.written) m.written[at] = 1;
  m.cells[at] = value;
}

void Machine::check_distinct(Task& t, const AccessInfo& a) {
  Instance& m = instance(t, a);
  point_.clear();
  bool ascending = true;
  for (int l = 0; l < a.lanes; ++l) {
    if (a.mask.reg != kNoReg && !t.r[a.mask.reg + l * a.mask.stride]) continue;
    const int64_t at = element(t, a, l, m);
    ascending = ascending && (point_.empty() || at > point_.back());
    point_.push_back(at);
  }
  if (ascending) return;
  std::sort(point_.begin(), point_.end());
  const auto twice = std::adjacent_find(point_.begin(), point_.end());
  if (twice == point_.end()) return;
  fail("ir.run.duplicate", stmt_at(t),
       str("two lanes of one store write `", element_name(m, *twice), "`"),
       {str("in ", name_of(t))}, "give every lane an element of its own, or mask the others");
}

}  // namespace tilewright::ir::run
