// SPDX-License-Identifier: Apache-2.0
// Calls of declared instructions. Dot products take vectors out of memory or registers; AMX
// instructions name tile registers, which `tile` buffers are given when they are allocated.
#include "llvm/IR/IntrinsicsX86.h"

#include "ir/build.h"
#include "ir/operand.h"
#include "support/str.h"
#include "target/llvm/emitter.h"
#include "target/llvm/intrinsics.h"
#include "target/llvm/visit_once.h"

namespace tilewright::target::llvm {
namespace {

constexpr int kTileRegisters = 8;
constexpr int64_t kTileRows = 16, kTileRowBytes = 64;

[[noreturn]] void fail(const ir::InstrCall& s, std::vector<std::string> notes, std::string help) {
  throw Error({.code = "target.llvm.intrinsic",
               .at = s.span,
               .message = str("cannot call `", s.instr->name, "`"),
               .notes = std::move(notes),
               .help = std::move(help)});
}

void check_isa(const ir::InstrCall& s, const ir::TargetSpec& spec, ir::IsaSet any_of) {
  if (!spec.isa.meets(any_of))
    fail(s, {str("the target `", spec.name, "` has no instruction `", s.instr->emit, "`")},
         "use a target that has it, or schedule without this instruction");
}

int64_t tile_elements(ir::Elem elem) { return kTileRows * kTileRowBytes * 8 / ir::bits(elem); }

/// Places of an operand, from physical dimension `first` on.
int64_t places(const ir::BufferNode& operand, size_t first = 0) {
  const std::vector<ir::Expr> extents = ir::physical_extents(operand);
  int64_t n = 1;
  for (size_t d = first; d < extents.size(); ++d) n *= ir::const_int(extents[d]).value_or(0);
  return n;
}

/// Elements between the rows of a tile in memory: physical dimension 0 counts 16 rows, the others
/// are one row of 64 bytes without gaps.
ir::Expr row_stride(const ir::InstrCall& s, size_t operand) {
  const ir::BufferNode& declared = *s.instr->operands[operand].buffer;
  std::vector<ir::Expr> one_row = s.strides[operand];
  const int64_t columns = kTileRowBytes * 8 / ir::bits(declared.elem);
  const bool fits =
      !one_row.empty() && places(declared) == kTileRows * columns && places(declared, 1) == columns;
  if (!fits)
    fail(s, {str("operand `", declared.name, "` is not 16 rows of 64 bytes")},
         "declare it as a tile: rows first, then what is one row");
  one_row[0] = columns;
  if (!ir::is_contiguous(declared, one_row))
    fail(s,
         {str("a row of operand `", declared.name, "` has gaps in `",
              s.operands[operand].buffer->name, "`")},
         "give the buffer a layout in which each row is contiguous");
  return s.strides[operand][0];
}

}  // namespace

/// Does `body` allocate tile registers, those of parallel loops apart?
bool Emitter::uses_tiles(const ir::Stmt& body) {
  bool found = false;
  visit_statements(body, [&](const ir::Stmt& s) {
    if (const auto* a = s.as<ir::Alloc>()) found |= a->buffer->scope.kind == ir::ScopeKind::Tile;
    const auto* f = s.as<ir::For>();
    return frame_.worker || !f || f->loop != ir::ForKind::Parallel;
  });
  return found;
}

/// Once per function, since loading a configuration costs as much as many products: all tiles are
/// 16 rows of 64 bytes.
void Emitter::configure_tiles() {
  ll::Type* bytes = ll::ArrayType::get(b_.getInt8Ty(), 64);
  std::vector<uint8_t> config(64, 0);
  config[0] = 1;  // palette
  for (int t = 0; t < kTileRegisters; ++t) {
    config[static_cast<size_t>(16 + 2 * t)] = kTileRowBytes;
    config[static_cast<size_t>(48 + t)] = kTileRows;
  }
  ll::Constant* data = ll::ConstantDataArray::get(module_.getContext(), config);
  auto* global = new ll::GlobalVariable(module_, bytes, true, ll::GlobalValue::PrivateLinkage, data,
                                        "tile_config");
  global->setAlignment(ll::Align(64));
  b_.CreateIntrinsic(ll::Intrinsic::x86_ldtilecfg, {}, {global});
  frame_.has_tiles = true;
}

void Emitter::release_tiles() {
  if (frame_.has_tiles) b_.CreateIntrinsic(b_.getVoidTy(), ll::Intrinsic::x86_tilerelease, {});
}

void Emitter::alloc_tiles(const ir::Alloc& s) {
  const ir::Buffer& buffer = s.buffer;
  ir::Expr elements = 1;
  for (const ir::Expr& extent : buffer->shape) elements = elements * extent;
  const int64_t n = ir::const_int(elements).value_or(0);
  const int64_t tiles = (n + tile_elements(buffer->elem) - 1) / tile_elements(buffer->elem);
  if (!b_.spec.isa.has(ir::Isa::AmxInt8) && !b_.spec.isa.has(ir::Isa::AmxBf16))
    throw Error({.code = "target.llvm.tiles",
                 .at = s.span,
                 .message = str("cannot place `", buffer->name, "` in tile registers"),
                 .notes = {str("the target `", b_.spec.name, "` has none")},
                 .help = "use the target `amx`, or another scope"});
  if (n == 0 || frame_.tiles + tiles > kTileRegisters)
    throw Error({.code = "target.llvm.tiles",
                 .at = s.span,
                 .message = str("cannot place `", buffer->name, "` in tile registers"),
                 .notes = {n == 0 ? "its size is not a positive constant"
                                  : str("it needs ", tiles, " of ", kTileRegisters, ", of which ",
                                        frame_.tiles, " are taken")},
                 .help = "use fewer or smaller tiles at a time"});
  frame_.places[buffer] = {.tile = frame_.tiles};
  frame_.tiles += static_cast<int>(tiles);
  stmt(s.body);
  frame_.tiles -= static_cast<int>(tiles);
  frame_.places.erase(buffer);
}

/// The number of the tile register that a region names.
ll::Value* Emitter::tile_of(const ir::InstrCall& s, size_t operand) {
  const ir::Region& region = s.operands[operand];
  const Place& place = place_of(region.buffer);
  const std::optional<int64_t> offset =
      region.ranges.empty() ? 0 : ir::const_int(region.ranges[0].min);
  const ir::BufferNode& declared = *s.instr->operands[operand].buffer;
  if (place.tile < 0 || !offset || *offset % tile_elements(region.buffer->elem) != 0 ||
      places(declared) != tile_elements(region.buffer->elem) ||
      !ir::is_contiguous(declared, s.strides[operand]))
    fail(s,
         {str("operand `", s.instr->operands[operand].buffer->name,
              "` is not a tile register of its own")},
         "give it a whole tile of a buffer in `tile`, by constant indices");
  return b_.getInt8(
      static_cast<uint8_t>(place.tile + *offset / tile_elements(region.buffer->elem)));
}

void Emitter::tile_call(const ir::InstrCall& s, const TileIntrinsic& intrinsic) {
  check_isa(s, b_.spec, intrinsic.needs);
  const auto call = [&](std::vector<ll::Value*> args) {
    b_.CreateIntrinsic(intrinsic.id, {}, args);
  };
  const auto zero = [&](size_t operand) {
    b_.CreateIntrinsic(ll::Intrinsic::x86_tilezero, {}, {tile_of(s, operand)});
  };
  const auto memory = [&](size_t operand) {
    // {address, bytes between rows}
    const ir::Region& region = s.operands[operand];
    const Place& place = place_of(region.buffer);
    const ir::Elem elem = region.buffer->elem;
    if (!place.pointer)
      fail(s, {str("`", region.buffer->name, "` is not in memory")}, "place it in `global`");
    ll::Value* bytes = b_.CreateMul(expr(row_stride(s, operand)),
                                    b_.getInt64(static_cast<uint64_t>(ir::bits(elem) / 8)));
    return std::pair(address(place, elem, expr(region.ranges[0].min)), bytes);
  };
  switch (intrinsic.kind) {
    case TileKind::Zero: zero(0); break;
    case TileKind::Load: {
      const auto [pointer, stride] = memory(1);
      call({tile_of(s, 0), pointer, stride});
      break;
    }
    case TileKind::Store: {
      const auto [pointer, stride] = memory(0);
      call({tile_of(s, 1), pointer, stride});
      break;
    }
    case TileKind::Product:
      if (s.form != ir::InstrForm::Update) zero(0);
      if (s.form != ir::InstrForm::Reset) call({tile_of(s, 0), tile_of(s, 1), tile_of(s, 2)});
      break;
  }
}

Emitter::Access Emitter::operand(const ir::InstrCall& s, size_t i) {
  const ir::BufferNode& declared = *s.instr->operands[i].buffer;
  const int64_t n = places(declared);
  const ir::Region& region = s.operands[i];
  if (region.buffer->rank() == 0) return {region.buffer, {}, {}, 1};
  if (!ir::is_contiguous(declared, s.strides[i]))
    fail(s,
         {str("the elements of operand `", declared.name, "` are apart in `", region.buffer->name,
              "`")},
         "give the buffer a layout in which the operand is contiguous");
  const ir::Expr first = region.ranges[0].min;
  const ir::Expr index =
      n == 1 ? first : ir::make<ir::Ramp>(s.span, first, ir::Expr(1), static_cast<int32_t>(n));
  return {region.buffer, {index}, {}, static_cast<int>(n)};
}

void Emitter::dot_call(const ir::InstrCall& s, const DotIntrinsic& intrinsic) {
  check_isa(s, b_.spec, intrinsic.needs);
  if (s.operands.size() != 3)
    fail(s, {str("`", intrinsic.name, "` has 3 operands, the declaration ", s.operands.size())},
         "declare it as (acc, a, b)");
  for (size_t i = 0; i < 3; ++i)
    if (const ir::BufferNode& o = *s.instr->operands[i].buffer; o.elem != intrinsic.elems[i])
      fail(s,
           {str("operand `", o.name, "` holds ", ir::name(o.elem), ", that of `", intrinsic.name,
                "` ", ir::name(intrinsic.elems[i]))},
           "declare the instruction with these types, or name another one in `emit`");
  const Access target = operand(s, 0);
  const bool has_width = intrinsic.lanes > 0
                             ? target.lanes == intrinsic.lanes
                             : target.lanes == 4 || target.lanes == 8 || target.lanes == 16;
  if (!has_width)
    fail(s, {str("its result has ", target.lanes, " lanes")},
         intrinsic.lanes > 0 ? str("declare it with ", intrinsic.lanes)
                             : "declare it with 4, 8 or 16");
  const int wide = target.lanes * intrinsic.group;
  ll::Value* zero = ll::Constant::getNullValue(b_.type(target.type()));
  if (s.form == ir::InstrForm::Reset) return store(target, zero);
  const auto vector = [&](size_t i) -> ll::Value* {
    const Access a = operand(s, i);
    ll::Value* v = load(a);
    if (a.lanes == wide) return v;
    if (a.lanes != intrinsic.group)
      fail(s, {str("operand `", s.instr->operands[i].buffer->name, "` has ", a.lanes, " elements")},
           str("declare it with ", wide, " elements, or ", intrinsic.group, " for all lanes"));
    // One group for all lanes: a splat of what the group is as one number.
    ll::Type* word =
        b_.getIntNTy(static_cast<unsigned>(intrinsic.group * ir::bits(a.buffer->elem)));
    return b_.CreateBitCast(b_.splat(b_.CreateBitCast(v, word), target.lanes),
                            b_.with_lanes(v->getType()->getScalarType(), wide));
  };
  ll::Value* acc = s.form == ir::InstrForm::Update ? load(target) : zero;
  store(target, intrinsic.emit(b_, acc, vector(1), vector(2)));
}

void Emitter::emit(const ir::InstrCall& s) {
  if (const DotIntrinsic* dot = find_dot_intrinsic(s.instr->emit)) return dot_call(s, *dot);
  if (const TileIntrinsic* tile = find_tile_intrinsic(s.instr->emit)) return tile_call(s, *tile);
  std::string known;
  for (const std::string_view name : intrinsic_names())
    known += str(known.empty() ? "" : ", ", name);
  if (s.instr->emit.empty())
    fail(s, {"it names no hardware instruction"},
         "lower the call to its meaning before code generation");
  fail(s, {str("there is no instruction `", s.instr->emit, "`"), str("known: ", known)},
       "name one of these in `emit`, or leave it out and lower the call to its meaning");
}

}  // namespace tilewright::target::llvm
