// SPDX-License-Identifier: Apache-2.0
// The bytes of a `.twm` file: all little endian, records of fixed size, read where they are mapped.
//
//   FileHeader, SectionEntry × sections, VariantEntry × variants
//   sections, each at a multiple of kPage; code at one of code_page
//
// Names are offsets in the Names section, of texts that end with a 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "module/code_image.h"
#include "module/elem.h"
#include "module/isa.h"
#include "module/plan.h"

namespace tilewright::format {

constexpr unsigned char kMagic[8] = {0x89, 'T', 'W', 'M', '\r', '\n', 0x1a, '\n'};
/// Another major number: unreadable. A runtime reads all minors up to its own.
constexpr uint16_t kMajor = 1;
constexpr uint16_t kMinor = 1;

constexpr uint64_t kPage = 4096;
/// Code is mapped from the file, so it starts at the largest page that its machines may have.
constexpr uint64_t code_page(Arch arch) { return arch == Arch::AArch64 ? 65536 : 4096; }
constexpr uint64_t kConstantAlignment = 64;

constexpr uint32_t kFlushSubnormals = 1;  // of FileHeader::flags

struct FileHeader {
  unsigned char magic[8];
  uint16_t major;
  uint16_t minor;
  uint32_t table_bytes;  // this header and both tables
  uint64_t file_bytes;
  uint32_t sections;
  uint32_t variants;
  uint32_t flags;
  uint32_t reserved;
  uint64_t checksum;  // of the first table_bytes with this field 0
};
static_assert(sizeof(FileHeader) == 48);

enum class SectionKind : uint32_t {
  Names,
  Meta,           // MetaHeader, PortRecord × (inputs + outputs), DimRecord…, MetadataRecord…
  HostOps,        // names
  ConstantTable,  // ConstantRecord…
  Constants,      // not checked by a default load
  Plan,           // of a variant, as are those that follow: PlanHeader and its arrays
  Code,           // the image
  CodeTable,      // CodeHeader, CodeSegment…, CodeRelocation…
  Kernels,        // KernelsHeader, KernelRecord…, KernelParam…
};
constexpr uint32_t kSectionKinds = 9;

struct SectionEntry {
  SectionKind kind;
  uint32_t variant;  // kNone: shared by all
  uint64_t offset;
  uint64_t bytes;
  uint64_t checksum;
};

struct VariantEntry {
  uint32_t arch;
  uint32_t vector_bytes;
  uint64_t isa;
  uint32_t triple;  // name
  uint32_t reserved;
};

struct MetaHeader {
  uint32_t inputs;
  uint32_t outputs;
  uint32_t dims;
  uint32_t metadata;
};

struct PortRecord {
  uint32_t name;
  ValueType type;
  uint32_t rank;
  uint32_t first_dim;
  uint32_t alignment;
  /// Of an output: the input that it takes over, or kNone; of an input: the constant that it is by
  /// default, or kNone.
  uint32_t source;
};

struct DimRecord {
  int64_t value;
  int64_t min;
  int64_t max;
  int64_t divisor;
  uint32_t symbol;
  uint32_t preset;  // of an input with a default: what it is there
};

struct MetadataRecord {
  uint32_t key;
  uint32_t value;
};

struct ConstantRecord {
  uint64_t offset;  // in Constants
  uint64_t bytes;
};

/// Followed by constants (i64), bindings, values, dims, code, attributes; each starts at a multiple
/// of 8.
struct PlanHeader {
  uint32_t constants;
  uint32_t registers;
  uint32_t bindings;
  uint32_t values;
  uint32_t dims;
  uint32_t code;
  uint32_t prologue_words;
  uint32_t attributes;
  uint32_t arena_bytes;  // register
  uint32_t reserved;
  int64_t arena_max;
  int64_t workspace_max;
  int64_t scratch_max;
};

struct CodeHeader {
  uint32_t segments;
  uint32_t relocations;
};

struct KernelsHeader {
  uint32_t kernels;
  uint32_t params;
};

struct KernelRecord {
  uint64_t offset;
  uint32_t name;
  uint32_t first_param;
  uint32_t params;
  uint32_t scalars;
};

constexpr uint64_t align_up(uint64_t n, uint64_t alignment) {
  return (n + alignment - 1) / alignment * alignment;
}

}  // namespace tilewright::format
