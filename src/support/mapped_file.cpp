// SPDX-License-Identifier: Apache-2.0
#include "support/mapped_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, std::string fact) {
  throw Error({.code = "support.file.read",
               .at = {},
               .message = str("cannot read `", path.string(), "`"),
               .notes = {std::move(fact)},
               .help = "name a plain file that exists and can be read"});
}

std::string last_error() { return std::generic_category().message(errno); }

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::map(int descriptor,
                                                  const std::filesystem::path& name) {
  struct stat info{};
  if (fstat(descriptor, &info) != 0) refuse(name, last_error());
  if (!S_ISREG(info.st_mode)) refuse(name, "it is not a plain file");
  const size_t size = static_cast<size_t>(info.st_size);
  void* start = nullptr;
  if (size > 0) {  // mmap has no empty mappings
    start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (start == MAP_FAILED) refuse(name, last_error());
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte*>(start), size}));
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // Not blocking: opening a pipe must not wait for a writer before it is refused.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) refuse(path, last_error());
  const struct Closer {
    int descriptor;
    ~Closer() { close(descriptor); }
  } closer{descriptor};
  return map(descriptor, path);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace tilewright
