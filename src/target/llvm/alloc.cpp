// SPDX-License-Identifier: Apache-2.0
// Where buffers live: parameters at the caller's pointers, `register` buffers in values, small
// allocations on the stack, large ones in the workspace. No two ever share memory, so each has an
// alias scope of its own.
#include <algorithm>

#include "llvm/IR/MDBuilder.h"

#include "ir/build.h"
#include "support/str.h"
#include "target/llvm/emitter.h"
#include "target/llvm/visit_once.h"

namespace tilewright::target::llvm {

using ir::Expr;

namespace {

// A thread's stack is 8 MiB at best, and shared with the caller.
constexpr int64_t kStackBytesOfOne = 16 << 10;
constexpr int64_t kStackBytesOfAll = 64 << 10;
constexpr int64_t kRegisterBytes = 64 << 10;
constexpr int64_t kAlign = 64;

Expr elements_of(const ir::Buffer& buffer) {
  Expr n = 1;
  for (const Expr& extent : buffer->shape) n = n * extent;
  return n;
}

/// Rounded up to whole lines.
Expr bytes_of(const ir::Buffer& buffer) {
  const Expr bits = elements_of(buffer) * Expr(ir::bits(buffer->elem));
  return ir::ceil_div(bits, 8 * kAlign) * Expr(kAlign);
}

}  // namespace

const Place& Emitter::place_of(const ir::Buffer& buffer) const {
  const auto found = frame_.places.find(buffer);
  require(found != frame_.places.end(), "a buffer is used outside of its scope");
  return found->second;
}

void Emitter::make_scopes() {
  std::vector<ir::Buffer> buffers;
  for (const ir::Param& p : func_.params) buffers.push_back(p.buffer);
  visit_statements(func_.body, [&](const ir::Stmt& s) {
    if (const auto* a = s.as<ir::Alloc>()) buffers.push_back(a->buffer);
    return true;
  });
  ll::MDBuilder md(module_.getContext());
  ll::MDNode* domain = md.createAnonymousAliasScopeDomain(func_.name);
  std::vector<ll::Metadata*> all;
  for (const ir::Buffer& buffer : buffers)
    all.push_back(md.createAnonymousAliasScope(domain, buffer->name));
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::vector<ll::Metadata*> others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    scopes_[buffers[i]] = {ll::MDNode::get(module_.getContext(), {all[i]}),
                           ll::MDNode::get(module_.getContext(), others)};
  }
}

void Emitter::bind_pointer(const ir::Buffer& buffer, ll::Value* pointer) {
  const auto& [own, others] = scopes_.at(buffer);
  frame_.places[buffer] = {.pointer = pointer, .own_scope = own, .other_scopes = others};
  pointer->setName(buffer->name);
}

void Emitter::bind_parameters(ll::Value* buffers, ll::Value* scalars) {
  ll::LLVMContext& context = module_.getContext();
  const auto number = [&](uint64_t n) {
    return ll::MDNode::get(context, ll::ConstantAsMetadata::get(b_.getInt64(n)));
  };
  ll::MDNode* nothing = ll::MDNode::get(context, {});
  for (size_t i = 0; i < func_.symbols.size(); ++i) {
    const ir::Symbol& symbol = func_.symbols[i];
    auto* value =
        b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), scalars, i),
                      symbol.var.name());
    if (symbol.min <= symbol.max && symbol.max < INT64_MAX)
      value->setMetadata(ll::LLVMContext::MD_range,
                         ll::MDBuilder(context).createRange(
                             ll::APInt(64, static_cast<uint64_t>(symbol.min), true),
                             ll::APInt(64, static_cast<uint64_t>(symbol.max + 1), true)));
    frame_.vars[symbol.var] = value;
  }
  for (size_t i = 0; i < func_.params.size(); ++i) {
    const ir::Buffer& buffer = func_.params[i].buffer;
    auto* pointer =
        b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), buffers, i));
    pointer->setMetadata(ll::LLVMContext::MD_noundef, nothing);
    if (buffer->alignment > 1)
      pointer->setMetadata(ll::LLVMContext::MD_align,
                           number(static_cast<uint64_t>(buffer->alignment)));
    const std::optional<int64_t> elements = ir::const_int(elements_of(buffer));
    const int64_t bytes = elements.value_or(0) * ir::bits(buffer->elem) / 8;
    if (bytes > 0) {
      pointer->setMetadata(ll::LLVMContext::MD_nonnull, nothing);
      pointer->setMetadata(ll::LLVMContext::MD_dereferenceable,
                           number(static_cast<uint64_t>(bytes)));
    }
    bind_pointer(buffer, pointer);
  }
}

ll::AllocaInst* Emitter::stack_slot(ll::Type* type, const std::string& name, ll::Align align) {
  // In the entry block, so that a loop around does not let the stack grow.
  ll::BasicBlock& entry = frame_.function->getEntryBlock();
  ll::IRBuilder<> at_entry(&entry, entry.begin());
  ll::AllocaInst* slot = at_entry.CreateAlloca(type, nullptr, name);
  slot->setAlignment(align);
  return slot;
}

void Emitter::bind_slices(const ir::Buffer& buffer, std::vector<Slice> slices) {
  for (Slice& s : slices) {
    ll::Type* type = s.uniform ? b_.memory_type({buffer->elem, static_cast<int32_t>(s.elements)})
                               : ll::ArrayType::get(b_.memory_type({buffer->elem, 1}),
                                                    static_cast<uint64_t>(s.elements));
    s.slot = stack_slot(type, str(buffer->name, ".", s.offset), alignment(buffer->elem));
  }
  frame_.places[buffer] = {.slices = std::move(slices)};
}

ll::Value* Emitter::take_workspace(const ir::Alloc& s, const Expr& bytes) {
  std::unordered_set<ir::Var> symbols;
  for (const ir::Symbol& symbol : func_.symbols) symbols.insert(symbol.var);
  for (const ir::Var& var : ir::vars_of(bytes))
    if (!symbols.contains(var))
      throw Error(
          {.code = "target.llvm.alloc_size",
           .at = s.span,
           .message = str("cannot reserve memory for `", s.buffer->name, "`"),
           .notes = {str("its size depends on `", var.name(), "`, which changes while `",
                         func_.name, "` runs")},
           .help = "give the buffer a size in terms of constants and symbols of the function"});
  if (ir::has_load(bytes))
    throw Error(
        {.code = "target.llvm.alloc_size",
         .at = s.span,
         .message = str("cannot reserve memory for `", s.buffer->name, "`"),
         .notes = {"its size is loaded from memory"},
         .help = "give the buffer a size in terms of constants and symbols of the function"});
  Expr& used = frame_.worker ? workspace_.per_worker : workspace_.shared;
  const Expr offset = used;
  used = used + bytes;
  ll::Value* base = host_field(frame_.worker ? HostField::Scratch : HostField::Workspace);
  if (frame_.worker) {
    ll::Value* worker = b_.CreateSExt(frame_.worker, b_.getInt64Ty());
    base = b_.CreateInBoundsGEP(b_.getInt8Ty(), base,
                                b_.CreateMul(worker, host_field(HostField::ScratchBytes)));
  }
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, expr(offset));
}

void Emitter::emit(const ir::Alloc& s) {
  const ir::Buffer& buffer = s.buffer;
  if (buffer->scope.kind == ir::ScopeKind::Tile) return alloc_tiles(s);
  const Expr bytes = bytes_of(buffer);
  const std::optional<int64_t> size = ir::const_int(bytes);
  const bool in_registers = buffer->scope.kind == ir::ScopeKind::Register || buffer->rank() == 0;
  if (in_registers) {
    auto slices = register_slices(buffer, s.body, frame_.worker != nullptr);
    const bool cut =
        slices && ir::bits(buffer->elem) < 8 &&
        std::any_of(slices->begin(), slices->end(), [](const Slice& x) { return !x.uniform; });
    if (slices && !cut) {
      bind_slices(buffer, std::move(*slices));
      stmt(s.body);
      frame_.places.erase(buffer);
      return;
    }
    if (!size || *size > kRegisterBytes)
      throw Error(
          {.code = "target.llvm.register_size",
           .at = s.span,
           .message = str("`", buffer->name, "` does not fit into registers"),
           .notes = {size ? str("it takes ", *size, " bytes") : "its size is not a constant",
                     "its elements are not all named by constant indices"},
           .help = "unroll the loops that index it, or place it in `global`"});
  }
  if (size && *size <= kStackBytesOfOne && frame_.stack_bytes + *size <= kStackBytesOfAll) {
    frame_.stack_bytes += *size;
    ll::Type* type =
        ll::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(std::max<int64_t>(*size, 1)));
    bind_pointer(buffer, stack_slot(type, buffer->name, ll::Align(uint64_t{kAlign})));
  } else {
    bind_pointer(buffer, take_workspace(s, bytes));
  }
  stmt(s.body);
  frame_.places.erase(buffer);
}

}  // namespace tilewright::target::llvm
