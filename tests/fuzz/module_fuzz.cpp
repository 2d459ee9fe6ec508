// SPDX-License-Identifier: Apache-2.0
// Any bytes are loaded as a module or refused; a module that loads answers for its shapes. The
// bytes are a file, or edits to a good one whose checksums are then made right again, so that what
// lies behind them is reached.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/module_bytes.h"
#include "module/format.h"
#include "module/plan_builder.h"
#include "support/bare/checksum.h"
#include "tilewright/runtime.h"

using namespace tilewright;

namespace {

#if defined(__x86_64__)
constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
#else
constexpr const char* kTriple = "aarch64-unknown-linux-gnu";
#endif

/// Something of everything; its code is never run.
Module good_module() {
  Module module;
  const ValueType sequence{ElemType::F32, {ValueType::Wrap::Sequence}};
  module.inputs = {{.name = "x",
                    .type = {ElemType::F32},
                    .dims = {{.symbol = "n", .preset = 2}, {.value = 4, .preset = 4}},
                    .alignment = 4,
                    .preset = 0},
                   {.name = "s", .type = sequence}};
  module.outputs = {{.name = "y",
                     .type = {ElemType::F32},
                     .dims = {{.symbol = "n"}},
                     .alignment = 4,
                     .donor = kNone},
                    {.name = "t", .type = sequence},
                    {.name = "z", .type = {ElemType::I64}, .dims = {{}}}};
  module.metadata = {{"key", "value"}};
  static const uint64_t strings[] = {0, 1, 2, 0x6261};
  module.constants = {{reinterpret_cast<const std::byte*>(strings), sizeof strings, nullptr}};
  ModuleVariant v{.triple = kTriple};
  v.needs.arch = arch_of(kTriple);
  const uint64_t page = format::code_page(v.needs.arch);
  v.code.bytes.resize(2 * page);
  v.code.segments = {{.offset = 0, .bytes = page, .executable = 1},
                     {.offset = page, .bytes = page}};
  v.code.relocations = {{.offset = page, .addend = 8},
                        {.offset = page + 8, .to = CodeRelocation::To::Memcpy}};
  using enum KernelParam::Access;
  v.kernels = {{.name = "k", .params = {{Read, 2}, {Write, 2}}, .scalars = 1}};

  PlanBuilder p(module);
  const Reg n = p.bind(0, 0, {.min = 0, .max = 100, .divisor = 1, .symbol = "n"});
  p.bind_to(0, 1, p.constant(4));
  const Reg bytes = p.op(PlanOp::Mul, n, p.constant(16));
  const PlanBuilder::Label skip = p.label();
  p.jump_if_zero(n, skip);
  p.check(p.op(PlanOp::Less, n, p.constant(64)), "too many");
  p.place(skip);
  p.end_prologue(p.op(PlanOp::Add, bytes, p.constant(128)), 4096);
  const ValueId x = p.input(0), s = p.input(1), y = p.output(0, std::vector{n}), t = p.output(1);
  const ValueId a = p.arena(p.constant(64), ElemType::F32, std::vector{n});
  const ValueId w = p.constant_value(0, ElemType::String, std::vector{p.constant(2)});
  p.call(0, std::vector{x, a}, std::vector{n}, {bytes, p.constant(64)});
  p.call(0, std::vector{a, y}, std::vector{n});
  const HostAttribute attributes[] = {{"axis", int64_t{1}}, {"name", std::string("v")}};
  p.host_call("sequence_identity", attributes, std::vector{s}, std::vector{t});
  const ValueId kept = p.dynamic({ElemType::String}, 1);
  p.share(kept, w);
  const Reg count = p.load_dim(kept, 0);
  p.alloc(p.output(2, std::vector{count}));
  v.plan = p.finish();
  module.variants.push_back(std::move(v));
  return module;
}

/// Where the file holds something but code: the tables and the other sections.
std::vector<size_t> places_in(const std::vector<std::byte>& file) {
  format::FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  std::vector<size_t> places;
  for (size_t i = 0; i < header.table_bytes; ++i) places.push_back(i);
  for (uint64_t i = 0; i < header.sections; ++i) {
    format::SectionEntry entry;
    std::memcpy(&entry, file.data() + sizeof header + i * sizeof entry, sizeof entry);
    for (uint64_t k = 0; k < entry.bytes && entry.kind != format::SectionKind::Code; ++k)
      places.push_back(entry.offset + k);
  }
  return places;
}

/// Makes the checksums of a file right, as far as its tables can be followed.
void fix_checksums(std::byte* file, size_t bytes) {
  format::FileHeader header;
  if (bytes < sizeof header) return;
  std::memcpy(&header, file, sizeof header);
  for (uint64_t i = 0; i < header.sections; ++i) {
    const uint64_t at = sizeof header + i * sizeof(format::SectionEntry);
    format::SectionEntry entry;
    if (at + sizeof entry > bytes) break;
    std::memcpy(&entry, file + at, sizeof entry);
    if (entry.offset > bytes || entry.bytes > bytes - entry.offset) continue;
    entry.checksum = checksum(file + entry.offset, entry.bytes);
    std::memcpy(file + at, &entry, sizeof entry);
  }
  header.checksum = 0;
  std::memcpy(file, &header, sizeof header);
  if (header.table_bytes > bytes) return;
  header.checksum = checksum(file, header.table_bytes);
  std::memcpy(file, &header, sizeof header);
}

/// No single answer may need much memory.
tw_allocator small_allocator() {
  return {nullptr,
          [](void*, size_t bytes, size_t alignment) -> void* {
            void* p = nullptr;
            return bytes <= size_t{64} << 20 && posix_memalign(&p, alignment, bytes) == 0 ? p
                                                                                          : nullptr;
          },
          [](void*, void* memory, size_t) { std::free(memory); }};
}

void ask_for_shapes(tw_module* module) {
  tw_context* context = nullptr;
  if (tw_context_create(module, nullptr, &context) != TW_OK) return;
  for (int32_t i = 0; i < tw_input_count(module); ++i) {
    tw_port port;
    if (tw_input_port(module, i, &port) != TW_OK) std::abort();
    const int64_t dims[32] = {3, 4, 3, 4};
    (void)tw_set_input_shape(context, i, port.rank, dims);
  }
  for (int32_t i = 0; i < tw_output_count(module); ++i) {
    int64_t dims[32];
    (void)tw_output_shape(context, i, dims);
  }
  tw_context_release(context);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::byte> good = module_bytes(good_module());
  if (size == 0) return 0;
  std::vector<std::byte> bytes;
  if (data[0] == 0) {
    const auto* p = reinterpret_cast<const std::byte*>(data + 1);
    bytes.assign(p, p + size - 1);
  } else {
    // An edit: two bytes of place, one of value.
    static const std::vector<size_t> places = places_in(good);
    bytes = good;
    for (size_t i = 1; i + 3 <= size; i += 3)
      bytes[places[(data[i] | data[i + 1] << 8u) % places.size()]] = std::byte{data[i + 2]};
    fix_checksums(bytes.data(), bytes.size());
  }
  void* aligned = nullptr;
  if (posix_memalign(&aligned, 64, bytes.size() + 1) != 0) return 0;
  if (!bytes.empty()) std::memcpy(aligned, bytes.data(), bytes.size());
  const tw_allocator allocator = small_allocator();
  const tw_load_options options{.verify_full = 1, .allocator = &allocator};
  tw_module* module = nullptr;
  const tw_status status = tw_load_memory(aligned, bytes.size(), &options, &module);
  if (status == TW_OK)
    ask_for_shapes(module);
  else if (tw_error_text(nullptr)[0] == 0)
    std::abort();
  if (data[0] == 1 && size < 4 && status != TW_OK) std::abort();  // the good one, without an edit
  tw_module_release(module);
  std::free(aligned);
  return 0;
}
