// SPDX-License-Identifier: Apache-2.0
#include "runtime/code_map.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>

namespace tilewright::runtime {

CodeMap::~CodeMap() {
  if (copy_bytes_ != 0) munmap(image_, copy_bytes_);
}

bool CodeMap::map(const VariantView& variant, bool in_place, ErrorText& error) {
  if (variant.code.empty()) return true;
  if (in_place) {
    image_ = const_cast<std::byte*>(variant.code.data());
    if (relocate_and_protect(variant)) return true;
  }
  void* copy = mmap(nullptr, variant.code.size(), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED)
    return error.set("cannot map the module's code: %s", std::strerror(errno));
  image_ = static_cast<std::byte*>(copy);
  copy_bytes_ = variant.code.size();
  std::memcpy(image_, variant.code.data(), variant.code.size());
  if (relocate_and_protect(variant)) return true;
  return error.set("the system does not let the module's code be executed: %s",
                   std::strerror(errno));
}

bool CodeMap::relocate_and_protect(const VariantView& variant) {
  for (const CodeSegment& s : variant.segments)
    if (s.bytes > 0 &&
        mprotect(image_ + s.offset, s.bytes,
                 s.executable != 0 ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE) != 0)
      return false;
  const auto base = reinterpret_cast<uintptr_t>(image_);
  for (const CodeRelocation& r : variant.relocations) {
    uintptr_t address = base;
    if (r.to == CodeRelocation::To::Memcpy) address = reinterpret_cast<uintptr_t>(&std::memcpy);
    if (r.to == CodeRelocation::To::Memset) address = reinterpret_cast<uintptr_t>(&std::memset);
    const uint64_t word = address + static_cast<uint64_t>(r.addend);
    std::memcpy(image_ + r.offset, &word, sizeof word);
  }
  for (const CodeSegment& s : variant.segments) {
    if (s.bytes == 0) continue;
    if (s.executable == 0 && mprotect(image_ + s.offset, s.bytes, PROT_READ) != 0) return false;
    auto* begin = reinterpret_cast<char*>(image_ + s.offset);
    __builtin___clear_cache(begin, begin + s.bytes);
  }
  return true;
}

FileMap::~FileMap() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

bool FileMap::map(int descriptor, const char* name, bool populate, ErrorText& error) {
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return error.set("cannot read `%s`: %s", name, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return error.set("cannot read `%s`: it is not a file", name);
  if (info.st_size == 0) return error.set("cannot read `%s`: it is empty", name);
  const auto bytes = static_cast<size_t>(info.st_size);
  void* data =
      mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | (populate ? MAP_POPULATE : 0), descriptor, 0);
  if (data == MAP_FAILED) return error.set("cannot map `%s`: %s", name, std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(data), bytes};
  return true;
}

}  // namespace tilewright::runtime
