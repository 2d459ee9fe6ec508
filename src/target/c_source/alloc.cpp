// SPDX-License-Identifier: Apache-2.0
// Allocations: a scalar is a variable, what is small an array on the stack, the rest a piece of the
// workspace, which those that end leave to those that follow.
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "target/c_source/kernel.h"
#include "target/c_source/types.h"

namespace tilewright::target::c_source {

using ir::Expr;

namespace {

// A thread's stack is 8 MiB at best, and shared with the caller.
constexpr int64_t kStackBytesOfOne = 16 << 10;
constexpr int64_t kStackBytesOfAll = 64 << 10;
// A small machine's is a few KiB.
constexpr int64_t kStackBytesOfStep = 1 << 10;
// What may be reserved for a size of which only the greatest value is known.
constexpr int64_t kMaxBoundedBytes = 64 << 20;
constexpr int64_t kAlign = 64;

int64_t bytes_for(ir::Elem elem, int64_t elements) { return (elements * ir::bits(elem) + 7) / 8; }

}  // namespace

bool KernelEmitter::only_symbols(const Expr& e) const {
  for (const ir::Var& var : ir::vars_of(e)) {
    bool symbol = false;
    for (const ir::Symbol& s : func_.symbols) symbol = symbol || s.var == var;
    if (!symbol) return false;
  }
  return !ir::has_load(e);
}

/// The greatest number of elements, of a size that changes while the kernel runs.
int64_t KernelEmitter::bound_of(const ir::Alloc& s, const Expr& elements) {
  const __int128 most = range(elements).hi;
  if (most * ir::bits(s.buffer->elem) > __int128{kMaxBoundedBytes} * 8)
    throw Error(
        {.code = "target.c_source.alloc_size",
         .at = s.span,
         .message = str("cannot reserve memory for `", s.buffer->name, "`"),
         .notes = {str("its size changes while `", func_.name,
                       "` runs, and no useful bound of it is known")},
         .help = "give the buffer a size in terms of constants and symbols of the function"});
  return static_cast<int64_t>(std::max<__int128>(most, 0));
}

std::string KernelEmitter::workspace_pointer(const Expr& offset) {
  frame_->uses_host = true;
  if (form_ == Form::Steps) {
    if (ir::is_const(offset, 0)) return "workspace";
    return "(void*)((char*)workspace + " + expr(offset).in(Bind::Product) + ")";
  }
  if (!frame_->outer && ir::is_const(offset, 0)) return "host->workspace";
  std::string address = "(char*)host->workspace";
  if (frame_->outer) {
    frame_->uses_worker = true;
    address = "(char*)host->scratch + worker * host->scratch_bytes";
  }
  if (!ir::is_const(offset, 0)) address += " + " + expr(offset).in(Bind::Product);
  return "(void*)(" + address + ")";
}

/// The body comes first: only then it is known how the buffer is used.
void KernelEmitter::declare_after_body(const ir::Alloc& s, FunctionRef<std::string()> declaration) {
  const Lines body = lines_of([&] { stmt(s.body); });
  const Place place = place_of(s.buffer);
  if (place.is_read || place.is_written) {
    out_->line(declaration());
    if (!place.is_read) out_->line(str("(void)", place.name, ";"));
  }
  out_->append(body);
  frame_->places.erase(s.buffer);
}

void KernelEmitter::alloc(const ir::Alloc& s) {
  const ir::Buffer& buffer = s.buffer;
  const std::string name = frame_->names.take(buffer->name);
  Place place{.name = name, .elem = buffer->elem};
  if (buffer->rank() == 0) {
    place.is_variable = place.holds_values = true;
    frame_->places.insert_or_assign(buffer, place);
    return declare_after_body(s, [&] { return str(value_type(buffer->elem), " ", name, ";"); });
  }
  frame_->places.insert_or_assign(buffer, place);
  Expr elements = buffer->shape[0];
  if (!only_symbols(elements)) elements = bound_of(s, elements);
  const std::string type = memory_type(buffer->elem);
  const Range count = range(elements);
  const int64_t of_one = form_ == Form::Steps ? kStackBytesOfStep : kStackBytesOfOne;
  const int64_t of_all = form_ == Form::Steps ? kStackBytesOfStep : kStackBytesOfAll;
  if (count.is_constant() && count.lo <= of_one * 8) {
    const int64_t n = std::max<int64_t>(static_cast<int64_t>(count.lo), 1);
    const int64_t bytes = bytes_for(buffer->elem, n);
    if (bytes <= of_one && frame_->stack_bytes + bytes <= of_all) {
      frame_->stack_bytes += bytes;
      declare_after_body(s, [&] {
        const std::string align =
            buffer->alignment > 1 ? str("_Alignas(", buffer->alignment, ") ") : "";
        return str(align, type, " ", name, "[", is_packed(buffer->elem) ? bytes : n, "];");
      });
      frame_->stack_bytes -= bytes;
      return;
    }
  }
  Expr& used = frame_->outer ? per_worker_used_ : shared_used_;
  Expr& peak = frame_->outer ? workspace_.per_worker : workspace_.shared;
  const Expr offset = used;
  used = offset + ir::ceil_div(elements * Expr(ir::bits(buffer->elem)), 8 * kAlign) * Expr(kAlign);
  if (ir::is_const(peak, 0))
    peak = used;
  else if (!ir::equal(peak, used))
    peak = ir::max(peak, used);
  declare_after_body(s, [&] {
    return str(type, "*", dialect_.restrict_pointer, " ", name, " = ", workspace_pointer(offset),
               ";");
  });
  used = offset;
}

}  // namespace tilewright::target::c_source
