// SPDX-License-Identifier: Apache-2.0
#include "support/build_id.h"

#include <cstring>
#include <link.h>

namespace tilewright {
namespace {

struct Search {
  uintptr_t address;
  std::string id;
};

std::string hex(const unsigned char* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

std::string id_in_notes(const unsigned char* p, size_t bytes) {
  const auto padded = [](size_t n) { return (n + 3) & ~size_t{3}; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, p, sizeof note);
    const size_t name = padded(note.n_namesz), content = padded(note.n_descsz);
    const size_t all = sizeof note + name + content;
    if (all > bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(p + sizeof note, "GNU", 4) == 0)
      return hex(p + sizeof note + name, note.n_descsz);
    p += all;
    bytes -= all;
  }
  return {};
}

int look(dl_phdr_info* info, size_t, void* user) {
  Search& search = *static_cast<Search*>(user);
  bool here = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & h = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + h.p_vaddr;
    here |= h.p_type == PT_LOAD && search.address >= begin && search.address < begin + h.p_memsz;
  }
  if (!here) return 0;
  for (int i = 0; i < info->dlpi_phnum && search.id.empty(); ++i) {
    const ElfW(Phdr) & h = info->dlpi_phdr[i];
    if (h.p_type == PT_NOTE)
      search.id = id_in_notes(reinterpret_cast<const unsigned char*>(info->dlpi_addr + h.p_vaddr),
                              h.p_memsz);
  }
  return 1;
}

}  // namespace

std::string build_id(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(look, &search);
  return search.id;
}

}  // namespace tilewright
