// SPDX-License-Identifier: Apache-2.0
#include "module/view.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "module/shape.h"
#include "support/bare/checksum.h"

namespace tilewright {
namespace {

using namespace format;

/// Takes arrays off the front of a section.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class Record>
  bool one(const Record*& record) {
    std::span<const Record> all;
    if (!array(1, all)) return false;
    record = all.data();
    return true;
  }
  /// `count` records from the next multiple of 8 on.
  template <class Record>
  bool array(uint64_t count, std::span<const Record>& records) {
    static_assert(alignof(Record) <= 8);
    const uint64_t start = align_up(at_, 8);
    if (start > bytes_.size() || count > (bytes_.size() - start) / sizeof(Record))
      return count == 0;
    records = {reinterpret_cast<const Record*>(bytes_.data() + start), count};
    at_ = start + count * sizeof(Record);
    return true;
  }
  template <class Record>
  bool rest(std::span<const Record>& records) {
    return array((bytes_.size() - at_) / sizeof(Record), records);
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t at_ = 0;
};

bool name_ok(const ModuleView& view, uint32_t name) { return name < view.names.size(); }

const SectionEntry* find(const ModuleView& view, SectionKind kind, uint32_t variant) {
  for (const SectionEntry& s : view.sections)
    if (s.kind == kind && s.variant == variant) return &s;
  return nullptr;
}

std::span<const std::byte> bytes_of(const ModuleView& view, SectionKind kind, uint32_t variant) {
  const SectionEntry* s = find(view, kind, variant);
  return s ? view.file.subspan(s->offset, s->bytes) : std::span<const std::byte>();
}

const char* name_of(SectionKind kind) {
  static constexpr const char* names[kSectionKinds] = {
      "names", "meta", "host operator", "constant table", "constant",
      "plan",  "code", "code table",    "kernel table"};
  return names[static_cast<uint32_t>(kind)];
}

bool read_tables(std::span<const std::byte> file, ModuleView& view, ErrorText& error) {
  if (file.size() < sizeof kMagic || std::memcmp(file.data(), kMagic, sizeof kMagic) != 0)
    return error.set("this is not a Tilewright module: its first bytes are others");
  if (file.size() < sizeof(FileHeader)) return error.set("the module is cut off in its header");
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  if (header.major != kMajor || header.minor > kMinor)
    return error.set(
        "the module has format %u.%u, this runtime reads up to %u.%u: use the runtime that belongs "
        "to the compiler, or compile the model again",
        header.major, header.minor, kMajor, kMinor);
  const uint64_t tables = sizeof(FileHeader) + header.sections * sizeof(SectionEntry) +
                          header.variants * sizeof(VariantEntry);
  if (header.table_bytes != tables || tables > file.size())
    return error.set("the module is damaged: its tables do not fit");
  if (header.file_bytes != file.size())
    return error.set("the module has %zu bytes instead of %" PRIu64
                     ": it was cut off or joined with something",
                     file.size(), header.file_bytes);
  Checksum sum;
  const uint64_t stored = header.checksum;
  header.checksum = 0;
  sum.add(&header, sizeof header);
  sum.add(file.data() + sizeof header, tables - sizeof header);
  if (sum.value() != stored) return error.set("the module is damaged: its header has changed");
  const auto* section = reinterpret_cast<const SectionEntry*>(file.data() + sizeof header);
  view.file = file;
  view.sections = {section, header.sections};
  view.variant_table = {reinterpret_cast<const VariantEntry*>(section + header.sections),
                        header.variants};
  view.variants = header.variants;
  view.flush_subnormals = (header.flags & kFlushSubnormals) != 0;
  return true;
}

/// Nothing is hidden between sections: a byte there that changed is damage, too.
bool is_padding(const ModuleView& view, uint64_t begin, uint64_t end) {
  return std::ranges::all_of(view.file.subspan(begin, end - begin),
                             [](std::byte b) { return b == std::byte{}; });
}

bool check_sections(const ModuleView& view, Verify verify, ErrorText& error) {
  // No byte is in two sections, so that none is looked at twice.
  uint64_t end = sizeof(FileHeader) + view.sections.size_bytes() + view.variant_table.size_bytes();
  for (const SectionEntry& s : view.sections) {
    if (static_cast<uint32_t>(s.kind) >= kSectionKinds || s.offset % kPage != 0 || s.offset < end ||
        s.offset > view.file.size() || s.bytes > view.file.size() - s.offset)
      return error.set("the module is damaged: a section lies outside of the file");
    if (!is_padding(view, end, s.offset))
      return error.set("the module is damaged: the bytes before its %s section have changed",
                       name_of(s.kind));
    end = s.offset + s.bytes;
    if (s.kind == SectionKind::Constants && verify != Verify::Full) continue;
    if (checksum(view.file.data() + s.offset, s.bytes) != s.checksum)
      return error.set("the module is damaged: its %s section has changed", name_of(s.kind));
  }
  return is_padding(view, end, view.file.size()) ||
         error.set("the module is damaged: the bytes after its last section have changed");
}

bool type_ok(const ValueType& type) {
  if (static_cast<int>(type.elem) >= kElemTypeCount) return false;
  bool ended = false;
  for (const ValueType::Wrap w : type.wraps) {
    if (w > ValueType::Wrap::Optional || (ended && w != ValueType::Wrap::None)) return false;
    ended = ended || w == ValueType::Wrap::None;
  }
  return true;
}

/// `first_dim`: that of the port, and after that of the next one.
bool port_ok(const ModuleView& view, const PortRecord& p, bool output, uint32_t& first_dim) {
  const uint32_t first = first_dim;
  first_dim += p.rank;
  return name_ok(view, p.name) && type_ok(p.type) && p.rank <= kMaxRank && p.first_dim == first &&
         p.first_dim <= view.dims.size() && p.rank <= view.dims.size() - p.first_dim &&
         p.alignment != 0 && (p.alignment & (p.alignment - 1)) == 0 && p.alignment <= 64 &&
         (p.source == kNone || !output || p.source < view.inputs.size());
}

/// A default is a constant with as many bytes as its shape takes.
bool default_ok(const ModuleView& view, const PortRecord& p) {
  if (p.source == kNone) return true;
  if (!p.type.is_tensor() || p.source >= view.constants.size()) return false;
  int64_t dims[kMaxRank];
  const int64_t bytes = tensor_bytes(p.type.elem, default_shape(view, p, dims));
  return bytes >= 0 && static_cast<uint64_t>(bytes) == view.constants[p.source].bytes;
}

bool read_meta(ModuleView& view, ErrorText& error) {
  const std::span<const std::byte> names = bytes_of(view, SectionKind::Names, kNone);
  view.names = {reinterpret_cast<const char*>(names.data()), names.size()};
  if (names.empty() || view.names.back() != 0)
    return error.set("the module is damaged: its names are not a list of texts");

  Cursor meta(bytes_of(view, SectionKind::Meta, kNone));
  const MetaHeader* header = nullptr;
  if (!meta.one(header) || !meta.array(header->inputs, view.inputs) ||
      !meta.array(header->outputs, view.outputs) || !meta.array(header->dims, view.dims) ||
      !meta.array(header->metadata, view.metadata))
    return error.set("the module is damaged: its list of inputs and outputs is cut off");
  bool ok = true;
  uint32_t first_dim = 0;
  for (const PortRecord& p : view.inputs) ok = ok && port_ok(view, p, false, first_dim);
  for (const PortRecord& p : view.outputs) ok = ok && port_ok(view, p, true, first_dim);
  for (const DimRecord& d : view.dims) ok = ok && (d.symbol == kNone || name_ok(view, d.symbol));
  for (const MetadataRecord& m : view.metadata)
    ok = ok && name_ok(view, m.key) && name_ok(view, m.value);
  for (const VariantEntry& v : view.variant_table) ok = ok && name_ok(view, v.triple);

  Cursor(bytes_of(view, SectionKind::HostOps, kNone)).rest(view.host_ops);
  for (const uint32_t op : view.host_ops) ok = ok && name_ok(view, op);

  view.constant_bytes = bytes_of(view, SectionKind::Constants, kNone);
  Cursor(bytes_of(view, SectionKind::ConstantTable, kNone)).rest(view.constants);
  for (const ConstantRecord& c : view.constants)
    ok = ok && c.offset % kConstantAlignment == 0 && c.offset <= view.constant_bytes.size() &&
         c.bytes <= view.constant_bytes.size() - c.offset;
  for (const PortRecord& p : view.inputs) ok = ok && default_ok(view, p);
  return ok || error.set("the module is damaged: a record names something that is not there");
}

/// Executable segments stay as they are; only the others hold words to relocate.
bool code_ok(const VariantView& view, uint64_t page) {
  uint64_t end = 0;
  for (const CodeSegment& s : view.segments) {
    if (s.offset < end || s.offset % page != 0 || s.bytes % page != 0 ||
        s.offset > view.code.size() || s.bytes > view.code.size() - s.offset || s.executable > 1)
      return false;
    end = s.offset + s.bytes;
  }
  for (const CodeRelocation& r : view.relocations) {
    bool inside = false;
    for (const CodeSegment& s : view.segments)
      inside = inside || (s.executable == 0 && r.offset >= s.offset && s.bytes >= 8 &&
                          r.offset - s.offset <= s.bytes - 8);
    const bool to_image = r.to == CodeRelocation::To::Image;
    if (!inside || r.to > CodeRelocation::To::Memset ||
        (to_image && (r.addend < 0 || static_cast<uint64_t>(r.addend) > view.code.size())))
      return false;
  }
  for (const KernelRecord& k : view.kernels) {
    bool inside = false;
    for (const CodeSegment& s : view.segments)
      inside =
          inside || (s.executable == 1 && k.offset >= s.offset && k.offset - s.offset < s.bytes);
    if (!inside || k.first_param > view.params.size() ||
        k.params > view.params.size() - k.first_param)
      return false;
  }
  for (const KernelParam& p : view.params)
    if (p.access < KernelParam::Access::Read || p.access > KernelParam::Access::Update ||
        p.log2_alignment > 6)
      return false;
  return true;
}

}  // namespace

bool view_module(std::span<const std::byte> file, Verify verify, ModuleView& view,
                 ErrorText& error) {
  view = {};
  return read_tables(file, view, error) && check_sections(view, verify, error) &&
         read_meta(view, error);
}

IsaNeeds needs_of(const ModuleView& view, uint32_t variant) {
  const VariantEntry& v = view.variant_table[variant];
  return {static_cast<Arch>(v.arch), v.vector_bytes, v.isa};
}

bool view_variant(const ModuleView& module, uint32_t variant, VariantView& view, ErrorText& error) {
  view = {.needs = needs_of(module, variant),
          .triple = module.name(module.variant_table[variant].triple)};
  Cursor plan(bytes_of(module, SectionKind::Plan, variant));
  const PlanHeader* p = nullptr;
  if (!plan.one(p) || !plan.array(p->constants, view.plan.constants) ||
      !plan.array(p->bindings, view.plan.bindings) || !plan.array(p->values, view.plan.values) ||
      !plan.array(p->dims, view.plan.dims) || !plan.array(p->code, view.plan.code) ||
      !plan.array(p->attributes, view.plan.attributes))
    return error.set("the module is damaged: its plan is cut off");
  view.plan.registers = p->registers;
  view.plan.prologue_words = p->prologue_words;
  view.plan.arena_bytes = p->arena_bytes;
  view.plan.arena_max = p->arena_max;
  view.plan.workspace_max = p->workspace_max;
  view.plan.scratch_max = p->scratch_max;
  for (const PlanValue& v : view.plan.values)
    if (!type_ok(v.type)) return error.set("the module is damaged: a value has an unknown type");

  view.code = bytes_of(module, SectionKind::Code, variant);
  Cursor code(bytes_of(module, SectionKind::CodeTable, variant));
  const CodeHeader* c = nullptr;
  Cursor kernels(bytes_of(module, SectionKind::Kernels, variant));
  const KernelsHeader* k = nullptr;
  if (!code.one(c) || !code.array(c->segments, view.segments) ||
      !code.array(c->relocations, view.relocations) || !kernels.one(k) ||
      !kernels.array(k->kernels, view.kernels) || !kernels.array(k->params, view.params))
    return error.set("the module is damaged: its table of code is cut off");
  const SectionEntry* section = find(module, SectionKind::Code, variant);
  const uint64_t page = code_page(view.needs.arch);
  if (section == nullptr || section->offset % page != 0 || !code_ok(view, page))
    return error.set("the module is damaged: its code and the table of it do not fit");
  for (const KernelRecord& r : view.kernels)
    if (!name_ok(module, r.name)) return error.set("the module is damaged: a kernel has no name");
  return true;
}

}  // namespace tilewright
