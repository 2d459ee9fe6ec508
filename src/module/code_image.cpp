// SPDX-License-Identifier: Apache-2.0
#include "module/code_image.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

#include "module/format.h"

namespace tilewright {
namespace {

/// How an architecture numbers the relocations that a linked kernel may still have.
struct RelocationKinds {
  uint16_t machine;
  Arch arch;
  uint32_t relative, absolute, glob_dat, jump_slot;
};
constexpr RelocationKinds kMachines[] = {
    {EM_X86_64, Arch::X86_64, R_X86_64_RELATIVE, R_X86_64_64, R_X86_64_GLOB_DAT,
     R_X86_64_JUMP_SLOT},
    {EM_AARCH64, Arch::AArch64, R_AARCH64_RELATIVE, R_AARCH64_ABS64, R_AARCH64_GLOB_DAT,
     R_AARCH64_JUMP_SLOT},
    {EM_RISCV, Arch::RiscV64, R_RISCV_RELATIVE, R_RISCV_64, R_RISCV_64, R_RISCV_JUMP_SLOT},
};

class Elf {
 public:
  Elf(std::span<const std::byte> bytes, CodeImage& image, std::string& problem)
      : bytes_(bytes), image_(image), problem_(problem) {}

  bool convert() {
    return header() && segments() && dynamic() && relocations(rela_, rela_bytes_) &&
           relocations(plt_, plt_bytes_) && exports();
  }

 private:
  bool fail(std::string what) {
    problem_ = std::move(what);
    return false;
  }

  /// A record of the file; false when it is not inside.
  template <class Record>
  bool read(uint64_t offset, Record& record) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof record) return false;
    std::memcpy(&record, bytes_.data() + offset, sizeof record);
    return true;
  }
  /// A record of the image, by its address.
  template <class Record>
  bool read_image(uint64_t address, Record& record) const {
    const std::vector<std::byte>& image = image_.bytes;
    if (address > image.size() || image.size() - address < sizeof record) return false;
    std::memcpy(&record, image.data() + address, sizeof record);
    return true;
  }
  std::string text_at(uint64_t address) const {
    std::string text;
    for (char c = 0; read_image(address + text.size(), c) && c != 0;) text += c;
    return text;
  }

  bool header() {
    if (!read(0, header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
        header_.e_type != ET_DYN)
      return fail("the linker's result is not a 64-bit little-endian shared object");
    for (const RelocationKinds& m : kMachines)
      if (m.machine == header_.e_machine) kinds_ = &m;
    return kinds_ != nullptr || fail("the linker's result is for a machine without a runtime");
  }

  bool segments() {
    constexpr uint64_t kLimit = uint64_t{1} << 28;  // far beyond any model's code
    const uint64_t page = format::code_page(kinds_->arch);
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      Elf64_Phdr p;
      if (!read(header_.e_phoff + i * sizeof p, p)) return fail("its program headers are cut off");
      if (p.p_type == PT_TLS) return fail("a kernel uses thread-local memory");
      if (p.p_type == PT_DYNAMIC) dynamic_ = p;
      if (p.p_type != PT_LOAD) continue;
      if (p.p_vaddr > kLimit || p.p_memsz > kLimit || p.p_filesz > p.p_memsz ||
          p.p_offset > bytes_.size() || p.p_filesz > bytes_.size() - p.p_offset)
        return fail("a segment lies outside of it");
      const uint64_t start = p.p_vaddr / page * page;
      const uint64_t end = format::align_up(p.p_vaddr + p.p_memsz, page);
      if (start < image_.bytes.size()) return fail("two segments share a page");
      image_.bytes.resize(end);
      std::memcpy(image_.bytes.data() + p.p_vaddr, bytes_.data() + p.p_offset, p.p_filesz);
      const uint32_t executable = (p.p_flags & PF_X) != 0;
      if (executable && (p.p_flags & PF_W) != 0) return fail("a segment is writable code");
      image_.segments.push_back({.offset = start, .bytes = end - start, .executable = executable});
    }
    return !image_.segments.empty() || fail("it holds no code");
  }

  bool dynamic() {
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic_.p_memsz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn d;
      if (!read_image(dynamic_.p_vaddr + at, d)) return fail("its dynamic section is cut off");
      switch (d.d_tag) {
        case DT_NULL: return true;
        case DT_RELA: rela_ = d.d_un.d_ptr; break;
        case DT_RELASZ: rela_bytes_ = d.d_un.d_val; break;
        case DT_JMPREL: plt_ = d.d_un.d_ptr; break;
        case DT_PLTRELSZ: plt_bytes_ = d.d_un.d_val; break;
        case DT_SYMTAB: symbols_ = d.d_un.d_ptr; break;
        case DT_STRTAB: strings_ = d.d_un.d_ptr; break;
        case DT_INIT_ARRAYSZ:
        case DT_FINI_ARRAYSZ:
          if (d.d_un.d_val != 0) return fail("it has code that runs when it is loaded");
          break;
        case DT_INIT:
        case DT_FINI: return fail("it has code that runs when it is loaded");
        case DT_NEEDED: return fail("it needs another library");
        case DT_RELR: return fail("its relocations are packed");
        default: break;
      }
    }
    return true;
  }

  bool relocations(uint64_t table, uint64_t bytes) {
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= bytes; at += sizeof(Elf64_Rela)) {
      Elf64_Rela r;
      if (!read_image(table + at, r)) return fail("its relocations are cut off");
      if (!relocation(r)) return false;
    }
    return true;
  }

  bool relocation(const Elf64_Rela& r) {
    using To = CodeRelocation::To;
    const uint32_t kind = ELF64_R_TYPE(r.r_info);
    CodeRelocation out{.offset = r.r_offset, .addend = r.r_addend};
    if (kind == kinds_->relative) {
      image_.relocations.push_back(out);
      return true;
    }
    if (kind != kinds_->absolute && kind != kinds_->glob_dat && kind != kinds_->jump_slot)
      return fail("relocation kind " + std::to_string(kind) + " is not known");
    Elf64_Sym symbol;
    if (!read_image(symbols_ + ELF64_R_SYM(r.r_info) * sizeof symbol, symbol))
      return fail("its symbols are cut off");
    // A jump slot's addend is not part of its value.
    if (kind == kinds_->jump_slot) out.addend = 0;
    if (symbol.st_shndx != SHN_UNDEF) {
      out.addend += static_cast<int64_t>(symbol.st_value);
    } else {
      const std::string name = text_at(strings_ + symbol.st_name);
      if (name != "memcpy" && name != "memset")
        return fail("a kernel calls `" + name + "`; only memcpy and memset may be imported");
      out.to = name == "memcpy" ? To::Memcpy : To::Memset;
    }
    image_.relocations.push_back(out);
    return true;
  }

  bool exports() {
    uint64_t count = 0;
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      Elf64_Shdr s;
      if (!read(header_.e_shoff + i * sizeof s, s)) return fail("its section headers are cut off");
      if (s.sh_type == SHT_DYNSYM) count = s.sh_size / sizeof(Elf64_Sym);
    }
    for (uint64_t i = 0; i < count; ++i) {
      Elf64_Sym s;
      if (!read_image(symbols_ + i * sizeof s, s)) return fail("its symbols are cut off");
      if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF) continue;
      image_.entries.emplace_back(text_at(strings_ + s.st_name), s.st_value);
    }
    std::sort(image_.entries.begin(), image_.entries.end());
    return true;
  }

  std::span<const std::byte> bytes_;
  CodeImage& image_;
  std::string& problem_;
  Elf64_Ehdr header_{};
  Elf64_Phdr dynamic_{};
  const RelocationKinds* kinds_ = nullptr;
  uint64_t rela_ = 0, rela_bytes_ = 0, plt_ = 0, plt_bytes_ = 0, symbols_ = 0, strings_ = 0;
};

}  // namespace

bool image_from_elf(std::span<const std::byte> object, CodeImage& image, std::string& problem) {
  image = {};
  return Elf(object, image, problem).convert();
}

}  // namespace tilewright
