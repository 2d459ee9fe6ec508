// SPDX-License-Identifier: Apache-2.0
// Loads and stores: contiguous lanes are one access, masked ones the target's masked access, others
// go lane by lane or through a gather. Accesses of different buffers carry different alias scopes:
// two parameters never overlap, and every allocation has a place of its own.
#include <bit>

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Module.h"

#include "ir/build.h"
#include "support/diagnostic.h"
#include "target/llvm/emitter.h"

namespace tilewright::target::llvm {

using ir::Elem;
using ir::Expr;

namespace {

/// Up to this many lanes, single accesses are better than a gather or scatter.
constexpr int kSingleLanes = 16;

bool is_packed(Elem e) { return ir::bits(e) < 8; }

std::vector<int> reversed(int lanes) {
  std::vector<int> order;
  for (int i = lanes - 1; i >= 0; --i) order.push_back(i);
  return order;
}

bool is_zero(const ll::Value* v) {
  const auto* constant = ll::dyn_cast<ll::Constant>(v);
  return constant && constant->isNullValue();
}

const Slice& slice_at(const Place& place, const ConstantPlace& at) {
  for (const Slice& s : place.slices)
    if (at.offset >= s.offset && at.offset + at.lanes <= s.offset + s.elements) return s;
  throw InternalError("a register access outside of every slice");
}

}  // namespace

ll::Align Emitter::alignment(Elem elem) {
  return ll::Align(static_cast<uint64_t>(std::max(1, ir::bits(elem) / 8)));
}

ll::Instruction* Emitter::tag(ll::Instruction* instruction, const Place& place) {
  if (place.own_scope) {
    instruction->setMetadata(ll::LLVMContext::MD_alias_scope, place.own_scope);
    instruction->setMetadata(ll::LLVMContext::MD_noalias, place.other_scopes);
  }
  return instruction;
}

ll::Value* Emitter::load(const Access& a) {
  const Place& place = place_of(a.buffer);
  ll::Value* value = place.pointer ? load_lanes(place, a) : load_slice(place, a);
  if (a.buffer->elem == Elem::Bool)  // stored as a byte: 0 or not
    value = b_.CreateICmpNE(value, ll::Constant::getNullValue(value->getType()));
  return value;
}

void Emitter::store(const Access& a, ll::Value* value) {
  const Place& place = place_of(a.buffer);
  if (a.buffer->elem == Elem::Bool) value = b_.CreateZExt(value, b_.memory_type(a.type()));
  if (place.pointer)
    store_lanes(place, a, value);
  else
    store_slice(place, a, value);
}

ll::Value* Emitter::slice_address(const Place& place, const Access& a) {
  const ConstantPlace at = *constant_place(a.indices);
  const Slice& slice = slice_at(place, at);
  if (slice.uniform) return slice.slot;
  return b_.CreateConstInBoundsGEP1_64(b_.memory_type({a.buffer->elem, 1}), slice.slot,
                                       static_cast<uint64_t>(at.offset - slice.offset));
}

ll::Value* Emitter::load_slice(const Place& place, const Access& a) {
  ll::Value* value = b_.CreateAlignedLoad(b_.memory_type(a.type()), slice_address(place, a),
                                          alignment(a.buffer->elem));
  if (!a.mask) return value;
  return b_.CreateSelect(expr(a.mask), value, ll::Constant::getNullValue(value->getType()));
}

void Emitter::store_slice(const Place& place, const Access& a, ll::Value* value) {
  ll::Value* pointer = slice_address(place, a);
  if (a.mask) {  // a masked store would keep the slice in memory
    ll::Value* old = b_.CreateAlignedLoad(value->getType(), pointer, alignment(a.buffer->elem));
    value = b_.CreateSelect(expr(a.mask), value, old);
  }
  b_.CreateAlignedStore(value, pointer, alignment(a.buffer->elem));
}

ll::Value* Emitter::address(const Place& place, Elem elem, ll::Value* index) {
  return b_.CreateInBoundsGEP(b_.memory_type({elem, 1}), place.pointer, index);
}

ll::Value* Emitter::index_of(const Access& a) {
  return a.indices.empty() ? b_.getInt64(0) : expr(a.indices[0]);
}

/// One element; sub-byte ones are cut out of their byte.
ll::Value* Emitter::load_element(const Place& place, Elem elem, ll::Value* index) {
  if (!is_packed(elem)) {
    auto* value = b_.CreateAlignedLoad(b_.memory_type({elem, 1}), address(place, elem, index),
                                       alignment(elem));
    return tag(value, place);
  }
  const auto [pointer, shift] = packed_place(place, elem, index);
  ll::Value* byte = tag(b_.CreateAlignedLoad(b_.getInt8Ty(), pointer, ll::Align(1)), place);
  return b_.CreateTrunc(b_.CreateLShr(byte, shift), b_.element(elem));
}

/// guard(c, x[i], 0.0): one load that always happens, of the element or of the constant, costs less
/// than a branch. Null when the guard is something else.
ll::Value* Emitter::guarded_element(const ir::Guard& e) {
  const auto* load = e.yes.as<ir::Load>();
  const bool constant = e.no.as<ir::FloatImm>() || e.no.as<ir::IntImm>();
  if (!load || !constant || load->type.lanes != 1 || load->mask || load->rank) return nullptr;
  const Elem elem = load->buffer->elem;
  const Place& place = place_of(load->buffer);
  if (!place.pointer || is_packed(elem) || elem == Elem::Bool) return nullptr;
  bool anywhere = true;  // may the index be computed where the guard does not hold?
  for (const Expr& index : load->indices)
    ir::walk(
        index, [&](const ir::Load&) { anywhere = false; },
        [&](const ir::Binary& b) {
          const bool divides = b.op == ir::BinaryOp::Div || b.op == ir::BinaryOp::Mod;
          anywhere = anywhere && (!divides || ir::const_int(b.b));
        });
  if (!anywhere) return nullptr;
  ll::Value* index = index_of({load->buffer, load->indices, {}, 1});
  ll::Value* other = expr(e.no);
  auto* slot =
      new ll::GlobalVariable(module_, other->getType(), true, ll::GlobalValue::PrivateLinkage,
                             ll::cast<ll::Constant>(other), "guard.else");
  slot->setUnnamedAddr(ll::GlobalValue::UnnamedAddr::Global);
  ll::Value* pointer = b_.CreateSelect(expr(e.cond), address(place, elem, index), slot);
  return tag(b_.CreateAlignedLoad(other->getType(), pointer, alignment(elem)), place);
}

void Emitter::store_element(const Place& place, Elem elem, ll::Value* index, ll::Value* value) {
  if (!is_packed(elem)) {
    tag(b_.CreateAlignedStore(value, address(place, elem, index), alignment(elem)), place);
    return;
  }
  const auto [pointer, shift] = packed_place(place, elem, index);
  ll::Value* byte = tag(b_.CreateAlignedLoad(b_.getInt8Ty(), pointer, ll::Align(1)), place);
  ll::Value* ones = b_.CreateShl(b_.getInt8((1u << ir::bits(elem)) - 1), shift);
  ll::Value* kept = b_.CreateAnd(byte, b_.CreateNot(ones));
  ll::Value* put = b_.CreateShl(b_.CreateZExt(value, b_.getInt8Ty()), shift);
  tag(b_.CreateAlignedStore(b_.CreateOr(kept, put), pointer, ll::Align(1)), place);
}

/// The byte that holds a sub-byte element, and how far up it stands there.
std::pair<ll::Value*, ll::Value*> Emitter::packed_place(const Place& place, Elem elem,
                                                        ll::Value* index) {
  ll::Value* bit = b_.CreateMul(index, b_.getInt64(static_cast<uint64_t>(ir::bits(elem))));
  ll::Value* byte = b_.CreateLShr(bit, 3);
  return {b_.CreateInBoundsGEP(b_.getInt8Ty(), place.pointer, byte),
          b_.CreateTrunc(b_.CreateAnd(bit, 7), b_.getInt8Ty())};
}

/// Runs `body` where `cond` holds; gives its value, or zero.
ll::Value* Emitter::when(ll::Value* cond, FunctionRef<ll::Value*()> body) {
  ll::LLVMContext& context = module_.getContext();
  ll::BasicBlock* before = b_.GetInsertBlock();
  auto* yes = ll::BasicBlock::Create(context, "when", frame_.function);
  auto* end = ll::BasicBlock::Create(context, "when.end", frame_.function);
  b_.CreateCondBr(cond, yes, end);
  b_.SetInsertPoint(yes);
  ll::Value* value = body();
  b_.CreateBr(end);
  ll::BasicBlock* last = b_.GetInsertBlock();
  b_.SetInsertPoint(end);
  if (!value) return nullptr;
  ll::PHINode* phi = b_.CreatePHI(value->getType(), 2);
  phi->addIncoming(ll::Constant::getNullValue(value->getType()), before);
  phi->addIncoming(value, last);
  return phi;
}

/// Each lane by itself: `body(lane, index)` where the mask holds.
ll::Value* Emitter::by_lane(const Access& a, FunctionRef<ll::Value*(int, ll::Value*)> body) {
  ll::Value* indices = index_of(a);
  ll::Value* mask = a.mask ? expr(a.mask) : nullptr;
  const auto lane_of = [&](ll::Value* v, int i) {
    return v->getType()->isVectorTy() ? b_.CreateExtractElement(v, static_cast<uint64_t>(i)) : v;
  };
  ll::Value* result = nullptr;
  for (int i = 0; i < a.lanes; ++i) {
    ll::Value* index = lane_of(indices, i);
    ll::Value* one = mask ? when(lane_of(mask, i), [&] { return body(i, index); }) : body(i, index);
    if (!one || a.lanes == 1) {
      result = one;
    } else {
      if (!result) result = ll::PoisonValue::get(b_.with_lanes(one->getType(), a.lanes));
      result = b_.CreateInsertElement(result, one, static_cast<uint64_t>(i));
    }
  }
  return result;
}

ll::Value* Emitter::pointers_of(const Place& place, const Access& a) {
  ll::Value* indices = index_of(a);
  if (!indices->getType()->isVectorTy()) indices = b_.splat(indices, a.lanes);
  ll::Type* type = b_.memory_type({a.buffer->elem, 1});
  return a.mask ? b_.CreateGEP(type, place.pointer, indices)
                : b_.CreateInBoundsGEP(type, place.pointer, indices);
}

/// A column of a matrix whose rows are `stride` elements apart. Each row is read whole, and half of
/// two neighbours is kept until one row is left; the columns beside it are made of the same rows
/// and of halves that they share, so a block of columns becomes a transposition. Null when the
/// rows' places are not known well enough.
///   column 2   a0 a1 a2 a3   b0 b1 b2 b3   c0 c1 c2 c3   d0 d1 d2 d3
///              a0 a2 b0 b2   c0 c2 d0 d2                                   the even ones
///              a2 b2 c2 d2                                                 the odd ones
ll::Value* Emitter::load_column(const Place& place, const Access& a, const LaneIndex& lanes) {
  const auto count = static_cast<unsigned>(a.lanes);
  int64_t elements = 1;
  for (const Expr& extent : a.buffer->shape) elements *= ir::const_int(extent).value_or(0);
  // Rows of whole vectors from the first element on lie inside of the buffer.
  if (!std::has_single_bit(count) || count < 4 || lanes.stride % a.lanes != 0 ||
      elements % a.lanes != 0 || elements == 0)
    return nullptr;
  ll::Value* base = expr(lanes.base);
  const ll::KnownBits bits = ll::computeKnownBits(base, module_.getDataLayout());
  if (((bits.Zero | bits.One).getLoBits(static_cast<unsigned>(std::countr_zero(count))) + 1) !=
      count)
    return nullptr;
  const unsigned column = static_cast<unsigned>(bits.One.getLoBits(64).getZExtValue()) % count;

  ll::Value* first = b_.CreateSub(base, b_.getInt64(column));
  std::vector<ll::Value*> rows;
  for (int64_t i = 0; i < a.lanes; ++i) {
    ll::Value* at =
        b_.CreateAdd(first, ll::ConstantInt::getSigned(b_.getInt64Ty(), i * lanes.stride));
    rows.push_back(
        tag(b_.CreateAlignedLoad(b_.memory_type(a.type()), address(place, a.buffer->elem, at),
                                 alignment(a.buffer->elem)),
            place));
  }
  for (unsigned bit = 1; bit < count; bit *= 2) {
    std::vector<int> kept;
    for (unsigned i = 0; i < count; ++i)
      kept.push_back(static_cast<int>(2 * i + (column & bit ? 1 : 0)));
    for (size_t i = 0; i < rows.size() / 2; ++i)
      rows[i] = b_.CreateShuffleVector(rows[2 * i], rows[2 * i + 1], kept);
    rows.resize(rows.size() / 2);
  }
  return rows[0];
}

/// Lanes that are a few elements apart: all elements from the first to the last, as vectors, and
/// the wanted ones put together two vectors at a time.
///   stride 2   a0 a1 a2 a3, a3 a4 a5 a6  ->  a0 a2 a4 a6
/// The last vector is read early: what follows the last lane may not exist.
ll::Value* Emitter::load_spread(
    const Access& a, const LaneIndex& lanes, ll::Value* mask,
    FunctionRef<ll::Value*(const Expr& first, ll::Value* mask)> contiguous) {
  const int stride = static_cast<int>(lanes.stride);
  struct Part {
    ll::Value* value;
    std::vector<int> at;  // where its lanes stand
  };
  std::vector<Part> parts;
  for (int q = 0; q < stride; ++q) {
    const int first = std::min(q * a.lanes, (stride - 1) * (a.lanes - 1));
    Part part{};
    std::vector<int> source(static_cast<size_t>(a.lanes), a.lanes);  // lanes of the mask; none
    for (int i = 0; i < a.lanes; ++i) {
      if (stride * i / a.lanes != q) continue;
      part.at.push_back(stride * i - first);
      source[static_cast<size_t>(stride * i - first)] = i;
    }
    ll::Value* own =
        mask ? b_.CreateShuffleVector(mask, ll::Constant::getNullValue(mask->getType()), source)
             : nullptr;
    part.value = contiguous(lanes.base + first, own);
    parts.push_back(std::move(part));
  }
  while (parts.size() > 1) {
    std::vector<Part> halves;
    for (size_t i = 0; i < parts.size(); i += 2) {
      std::vector<int> order = parts[i].at;
      for (const int lane : parts[i + 1].at) order.push_back(lane + a.lanes);
      Part both{};
      for (size_t k = 0; k < order.size(); ++k) both.at.push_back(static_cast<int>(k));
      order.resize(static_cast<size_t>(a.lanes), ll::PoisonMaskElem);
      both.value = b_.CreateShuffleVector(parts[i].value, parts[i + 1].value, order);
      halves.push_back(std::move(both));
    }
    parts = std::move(halves);
  }
  return parts[0].value;
}

namespace {

/// Lanes that are `first / times + rest`, with one more in each following lane of the dividend.
struct Repeated {
  Expr first, rest;
  int64_t times = 0;
};

std::optional<Repeated> repeated(const Expr& index) {
  const auto* b = index.as<ir::Binary>();
  if (!b) return std::nullopt;
  const std::optional<LaneIndex> x = lane_index(b->a), y = lane_index(b->b);
  if (b->op == ir::BinaryOp::Div && x && x->stride == 1 && y && y->stride == 0) {
    const std::optional<int64_t> times = ir::const_int(y->base);
    if (times && *times > 1) return Repeated{x->base, Expr(0), *times};
  }
  if (b->op != ir::BinaryOp::Add) return std::nullopt;
  std::optional<Repeated> found = repeated(x ? b->b : b->a);
  const std::optional<LaneIndex>& same = x ? x : y;
  if (!found || !same || same->stride != 0) return std::nullopt;
  found->rest = found->rest + same->base;
  return found;
}

}  // namespace

/// Lanes that repeat: each element once, as a shorter vector, which is then spread. Null when the
/// places are not known to be so.
///   x[ramp(8 * i, 1, 8) / 2]   a0 a1 a2 a3  ->  a0 a0 a1 a1 a2 a2 a3 a3
ll::Value* Emitter::load_repeated(
    const Access& a, ll::Value* mask,
    FunctionRef<ll::Value*(ll::Value* first, int lanes, ll::Value* mask)> contiguous) {
  const std::optional<Repeated> from = repeated(a.indices[0]);
  if (!from || !std::has_single_bit(static_cast<uint64_t>(from->times)) ||
      a.lanes % from->times != 0 || a.lanes == from->times)
    return nullptr;
  ll::Value* first = expr(from->first);
  const auto shift = static_cast<unsigned>(std::countr_zero(static_cast<uint64_t>(from->times)));
  const ll::KnownBits bits = ll::computeKnownBits(first, module_.getDataLayout());
  if (bits.countMinTrailingZeros() < shift) return nullptr;
  const int times = static_cast<int>(from->times), count = a.lanes / times;
  ll::Value* some = nullptr;  // an element is read when any of its lanes is
  for (int k = 0; mask && k < times; ++k) {
    std::vector<int> own;
    for (int i = 0; i < count; ++i) own.push_back(i * times + k);
    ll::Value* part = b_.CreateShuffleVector(mask, own);
    some = some ? b_.CreateOr(some, part) : part;
  }
  first = b_.CreateAdd(b_.CreateAShr(first, shift), expr(from->rest));
  std::vector<int> spread;
  for (int i = 0; i < a.lanes; ++i) spread.push_back(i / times);
  ll::Value* value = b_.CreateShuffleVector(contiguous(first, count, some), spread);
  return mask ? b_.CreateSelect(mask, value, ll::Constant::getNullValue(value->getType())) : value;
}

/// A masked access is made of as many as there are registers: `part` gets the type, the first lane,
/// the pointer, which need not lie in the buffer, and the mask of each. LLVM 22 for AVX2 would cut
/// wider ones itself, but where it finds all lanes of one half off it reads them without a mask, or
/// dies.
void Emitter::by_register(
    const Place& place, Elem elem, ll::Value* index, ll::Value* mask,
    FunctionRef<void(ll::Type*, int first, ll::Value* pointer, ll::Value* mask)> part) {
  const int lanes = Lanes::lanes_of(mask);
  const int whole = std::max(1, b_.spec.lanes(std::max(8, ir::bits(elem))));
  ll::Type* scalar = b_.memory_type({elem, 1});
  ll::Value* pointer = b_.CreateGEP(scalar, place.pointer, index);
  for (int first = 0; first < lanes; first += whole) {
    const int count = std::min(whole, lanes - first);
    part(
        ll::FixedVectorType::get(scalar, static_cast<unsigned>(count)), first,
        first == 0 ? pointer : b_.CreateConstGEP1_64(scalar, pointer, static_cast<uint64_t>(first)),
        b_.some_of_mask(mask, first, count));
  }
}

ll::Value* Emitter::masked_load(const Place& place, Elem elem, ll::Value* index, ll::Value* mask) {
  ll::SmallVector<ll::Value*> parts;
  by_register(place, elem, index, mask, [&](ll::Type* type, int, ll::Value* from, ll::Value* some) {
    ll::Constant* none = ll::Constant::getNullValue(type);
    parts.push_back(is_zero(some)
                        ? static_cast<ll::Value*>(none)
                        : tag(b_.CreateMaskedLoad(type, from, alignment(elem), some, none), place));
  });
  return parts.size() == 1 ? parts[0] : ll::concatenateVectors(b_, parts);
}

void Emitter::masked_store(const Place& place, Elem elem, ll::Value* index, ll::Value* mask,
                           ll::Value* value) {
  by_register(
      place, elem, index, mask, [&](ll::Type* type, int first, ll::Value* to, ll::Value* some) {
        if (is_zero(some)) return;
        const auto count = static_cast<int>(ll::cast<ll::FixedVectorType>(type)->getNumElements());
        tag(b_.CreateMaskedStore(b_.some_lanes(value, first, count), to, alignment(elem), some),
            place);
      });
}

ll::Value* Emitter::load_lanes(const Place& place, const Access& a) {
  const Elem elem = a.buffer->elem;
  const auto single = [&](int, ll::Value* index) { return load_element(place, elem, index); };
  if (a.lanes == 1 || is_packed(elem)) return by_lane(a, single);

  ll::Type* type = b_.memory_type(a.type());
  const ll::Align align = alignment(elem);
  ll::Value* mask = a.mask ? expr(a.mask) : nullptr;
  const auto contiguous = [&](const Expr& first, ll::Value* m) -> ll::Value* {
    if (m) return masked_load(place, elem, expr(first), m);
    return tag(b_.CreateAlignedLoad(type, address(place, elem, expr(first)), align), place);
  };
  const std::optional<LaneIndex> lanes = lane_index(a.indices[0]);
  if (lanes && lanes->stride == 1) return contiguous(lanes->base, mask);
  if (lanes && lanes->stride == -1) {
    const std::vector<int> order = reversed(a.lanes);
    return b_.CreateShuffleVector(contiguous(lanes->base - (a.lanes - 1),
                                             mask ? b_.CreateShuffleVector(mask, order) : nullptr),
                                  order);
  }
  if (lanes && (lanes->stride == 2 || lanes->stride == 4) && a.lanes >= lanes->stride)
    return load_spread(a, *lanes, mask, contiguous);
  const auto shorter = [&](ll::Value* first, int count, ll::Value* m) -> ll::Value* {
    if (m) return masked_load(place, elem, first, m);
    ll::Type* part = b_.memory_type({elem, count});
    return tag(b_.CreateAlignedLoad(part, address(place, elem, first), align), place);
  };
  if (!lanes)
    if (ll::Value* spread = load_repeated(a, mask, shorter)) return spread;
  if (lanes && !mask) {
    if (lanes->stride == 0) return b_.splat(load_element(place, elem, expr(lanes->base)), a.lanes);
    if (ll::Value* column = load_column(place, a, *lanes)) return column;
    if (a.lanes <= kSingleLanes) return by_lane(a, single);
  }
  if (!mask) mask = ll::Constant::getAllOnesValue(b_.with_lanes(b_.getInt1Ty(), a.lanes));
  return tag(b_.CreateMaskedGather(type, pointers_of(place, a), align, mask,
                                   ll::Constant::getNullValue(type)),
             place);
}

void Emitter::store_lanes(const Place& place, const Access& a, ll::Value* value) {
  const Elem elem = a.buffer->elem;
  const auto single = [&](int lane, ll::Value* index) -> ll::Value* {
    ll::Value* one = value->getType()->isVectorTy()
                         ? b_.CreateExtractElement(value, static_cast<uint64_t>(lane))
                         : value;
    store_element(place, elem, index, one);
    return nullptr;
  };
  if (a.lanes == 1 || is_packed(elem)) {
    by_lane(a, single);
    return;
  }
  const ll::Align align = alignment(elem);
  ll::Value* mask = a.mask ? expr(a.mask) : nullptr;
  const std::optional<LaneIndex> lanes = lane_index(a.indices[0]);
  if (lanes && (lanes->stride == 1 || lanes->stride == -1)) {
    Expr first = lanes->base;
    if (lanes->stride == -1) {
      const std::vector<int> order = reversed(a.lanes);
      first = lanes->base - (a.lanes - 1);
      value = b_.CreateShuffleVector(value, order);
      if (mask) mask = b_.CreateShuffleVector(mask, order);
    }
    if (mask)
      masked_store(place, elem, expr(first), mask, value);
    else
      tag(b_.CreateAlignedStore(value, address(place, elem, expr(first)), align), place);
    return;
  }
  if (!mask && a.lanes <= kSingleLanes) {
    by_lane(a, single);
    return;
  }
  if (!mask) mask = ll::Constant::getAllOnesValue(b_.with_lanes(b_.getInt1Ty(), a.lanes));
  tag(b_.CreateMaskedScatter(value, pointers_of(place, a), align, mask), place);
}

}  // namespace tilewright::target::llvm
