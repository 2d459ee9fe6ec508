// SPDX-License-Identifier: Apache-2.0
#include "module/writer.h"

#include <cstring>
#include <functional>

#include "module/format.h"
#include "module/in_memory.h"
#include "support/bare/checksum.h"
#include "support/bare/output_file.h"

namespace tilewright {
namespace {

using namespace format;

/// Bytes of records one after the other.
class Bytes {
 public:
  void pad_to(size_t alignment) { bytes_.resize(align_up(bytes_.size(), alignment)); }
  void raw(const void* data, size_t n) {
    const auto* p = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), p, p + n);
  }
  template <class Record>
  void add(const Record& record) {
    static_assert(std::is_trivially_copyable_v<Record>);
    raw(&record, sizeof record);
  }
  template <class Record>
  void array(const std::vector<Record>& records) {
    pad_to(8);
    if (!records.empty()) raw(records.data(), records.size() * sizeof(Record));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

uint32_t count(size_t n) { return static_cast<uint32_t>(n); }

/// Lays out the whole file; `names` is a copy that still grows.
class Layout {
 public:
  explicit Layout(const Module& module) : module_(module), names_(module.names) {
    add_shared();
    for (uint32_t v = 0; v < module.variants.size(); ++v) add_variant(v);
    add(SectionKind::Names, kNone, names_bytes());
    finish();
  }

  /// Hands every byte of the file, in order, to `sink(data, bytes)`; stops when it returns false.
  bool write(const std::function<bool(const void*, size_t)>& sink) const {
    uint64_t at = 0;
    const auto put = [&](const void* data, size_t bytes) {
      at += bytes;
      return bytes == 0 || sink(data, bytes);
    };
    const auto pad = [&](uint64_t offset) {
      static constexpr std::byte zeros[4096] = {};
      while (at < offset)
        if (!put(zeros, std::min<uint64_t>(sizeof zeros, offset - at))) return false;
      return true;
    };
    if (!put(table_.data(), table_.size())) return false;
    for (const Section& s : sections_) {
      if (!pad(s.entry.offset)) return false;
      if (s.entry.kind != SectionKind::Constants) {
        if (!put(s.bytes.data(), s.bytes.size())) return false;
        continue;
      }
      for (size_t i = 0; i < module_.constants.size(); ++i)
        if (!pad(s.entry.offset + constants_[i].offset) ||
            !put(module_.constants[i].data, module_.constants[i].bytes))
          return false;
    }
    return true;
  }

  uint64_t file_bytes() const { return file_bytes_; }

 private:
  struct Section {
    SectionEntry entry;
    std::vector<std::byte> bytes;
  };

  uint32_t name(std::string_view text) { return names_.add(text); }

  void add(SectionKind kind, uint32_t variant, std::vector<std::byte> bytes) {
    sections_.push_back({{.kind = kind,
                          .variant = variant,
                          .bytes = bytes.size(),
                          .checksum = checksum(bytes.data(), bytes.size())},
                         std::move(bytes)});
  }

  void add_ports(Bytes& out, const std::vector<Port>& ports, uint32_t& first_dim) {
    for (const Port& p : ports) {
      out.add(PortRecord{.name = name(p.name),
                         .type = p.type,
                         .rank = count(p.dims.size()),
                         .first_dim = first_dim,
                         .alignment = p.alignment,
                         .source = p.donor != kNone ? p.donor : p.preset});
      first_dim += count(p.dims.size());
    }
  }

  void add_shared() {
    Bytes meta;
    uint32_t dims = 0;
    for (const auto* ports : {&module_.inputs, &module_.outputs})
      for (const Port& p : *ports) dims += count(p.dims.size());
    meta.add(MetaHeader{count(module_.inputs.size()), count(module_.outputs.size()), dims,
                        count(module_.metadata.size())});
    uint32_t first_dim = 0;
    add_ports(meta, module_.inputs, first_dim);
    add_ports(meta, module_.outputs, first_dim);
    meta.pad_to(8);
    for (const auto* ports : {&module_.inputs, &module_.outputs})
      for (const Port& p : *ports)
        for (const PortDim& d : p.dims)
          meta.add(DimRecord{.value = d.value,
                             .min = d.min,
                             .max = d.max,
                             .divisor = d.divisor,
                             .symbol = d.symbol.empty() ? kNone : name(d.symbol),
                             .preset = count(static_cast<size_t>(d.preset))});
    for (const auto& [key, value] : module_.metadata)
      meta.add(MetadataRecord{name(key), name(value)});
    add(SectionKind::Meta, kNone, meta.take());

    Bytes host_ops;
    for (const std::string& op : module_.host_ops) host_ops.add(name(op));
    add(SectionKind::HostOps, kNone, host_ops.take());
    add_constants();
  }

  void add_constants() {
    uint64_t offset = 0;
    Checksum sum;
    const auto skip_to = [&](uint64_t to) {
      static constexpr std::byte zeros[kConstantAlignment] = {};
      sum.add(zeros, to - offset);
      offset = to;
    };
    for (const ConstantData& c : module_.constants) {
      skip_to(align_up(offset, kConstantAlignment));
      constants_.push_back({offset, c.bytes});
      sum.add(c.data, c.bytes);
      offset += c.bytes;
    }
    Bytes table;
    table.array(constants_);
    add(SectionKind::ConstantTable, kNone, table.take());
    sections_.push_back({{.kind = SectionKind::Constants,
                          .variant = kNone,
                          .bytes = offset,
                          .checksum = sum.value()},
                         {}});
  }

  void add_plan(uint32_t variant, const Plan& plan) {
    Bytes out;
    out.add(PlanHeader{.constants = count(plan.constants.size()),
                       .registers = plan.registers,
                       .bindings = count(plan.bindings.size()),
                       .values = count(plan.values.size()),
                       .dims = count(plan.dims.size()),
                       .code = count(plan.code.size()),
                       .prologue_words = plan.prologue_words,
                       .attributes = count(plan.attributes.size()),
                       .arena_bytes = plan.arena_bytes,
                       .arena_max = plan.arena_max,
                       .workspace_max = plan.workspace_max,
                       .scratch_max = plan.scratch_max});
    out.array(plan.constants);
    out.array(plan.bindings);
    out.array(plan.values);
    out.array(plan.dims);
    out.array(plan.code);
    out.array(plan.attributes);
    add(SectionKind::Plan, variant, out.take());
  }

  void add_variant(uint32_t v) {
    const ModuleVariant& variant = module_.variants[v];
    add_plan(v, variant.plan);

    add(SectionKind::Code, v, variant.code.bytes);
    Bytes code;
    code.add(
        CodeHeader{count(variant.code.segments.size()), count(variant.code.relocations.size())});
    code.array(variant.code.segments);
    code.array(variant.code.relocations);
    add(SectionKind::CodeTable, v, code.take());

    Bytes kernels;
    std::vector<KernelRecord> records;
    std::vector<KernelParam> params;
    for (const KernelEntry& k : variant.kernels) {
      records.push_back({.offset = k.offset,
                         .name = name(k.name),
                         .first_param = count(params.size()),
                         .params = count(k.params.size()),
                         .scalars = k.scalars});
      params.insert(params.end(), k.params.begin(), k.params.end());
    }
    kernels.add(KernelsHeader{count(records.size()), count(params.size())});
    kernels.array(records);
    kernels.array(params);
    add(SectionKind::Kernels, v, kernels.take());

    variants_.push_back({.arch = static_cast<uint32_t>(variant.needs.arch),
                         .vector_bytes = variant.needs.vector_bytes,
                         .isa = variant.needs.bits,
                         .triple = name(variant.triple)});
  }

  std::vector<std::byte> names_bytes() {
    name("");  // never empty: the last byte is a 0
    const std::string& text = names_.bytes();
    Bytes out;
    out.raw(text.data(), text.size());
    return out.take();
  }

  void finish() {
    const uint64_t table_bytes = sizeof(FileHeader) + sections_.size() * sizeof(SectionEntry) +
                                 variants_.size() * sizeof(VariantEntry);
    uint64_t at = table_bytes;
    for (Section& s : sections_) {
      const bool code = s.entry.kind == SectionKind::Code;
      s.entry.offset =
          align_up(at, code ? code_page(module_.variants[s.entry.variant].needs.arch) : kPage);
      at = s.entry.offset + s.entry.bytes;
    }
    file_bytes_ = at;
    FileHeader header{.major = kMajor,
                      .minor = kMinor,
                      .table_bytes = count(table_bytes),
                      .file_bytes = file_bytes_,
                      .sections = count(sections_.size()),
                      .variants = count(variants_.size()),
                      .flags = module_.flush_subnormals ? kFlushSubnormals : 0};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    const auto table = [&] {
      Bytes out;
      out.add(header);
      for (const Section& s : sections_) out.add(s.entry);
      for (const VariantEntry& v : variants_) out.add(v);
      return out.take();
    };
    table_ = table();
    header.checksum = checksum(table_.data(), table_.size());
    table_ = table();
  }

  const Module& module_;
  Names names_;
  std::vector<Section> sections_;
  std::vector<ConstantRecord> constants_;
  std::vector<VariantEntry> variants_;
  std::vector<std::byte> table_;
  uint64_t file_bytes_ = 0;
};

}  // namespace

std::string write_module(const Module& module, const std::string& path) {
  OutputFile file(path);
  Layout(module).write([&](const void* data, size_t bytes) { return file.write(data, bytes); });
  return file.commit();
}

PagedMemory module_in_memory(const Module& module) {
  const Layout layout(module);
  PagedMemory out(layout.file_bytes());
  if (out.size() == 0) return out;
  std::byte* next = out.data();
  layout.write([&](const void* data, size_t bytes) {
    std::memcpy(next, data, bytes);
    next += bytes;
    return true;
  });
  return out;
}

}  // namespace tilewright
