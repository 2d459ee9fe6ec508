// SPDX-License-Identifier: Apache-2.0
#include "support/disk_cache.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "support/bare/checksum.h"
#include "support/transfer.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'t', 'w', 'c', 'a', 'c', 'h', 'e', '1'};
constexpr std::string_view kSuffix = ".entry";
constexpr std::string_view kUnfinished = ".part-";
/// A file without its name that old belongs to a process that died.
constexpr int64_t kAbandonedSeconds = 3600;

/// Before the key and the value.
struct Header {
  char magic[8];
  uint64_t key_bytes, value_bytes;
  uint64_t check;  // of key and value
};

uint64_t check_of(std::string_view key, std::string_view value) {
  Checksum sum;
  sum.add(key.data(), key.size());
  sum.add(value.data(), value.size());
  return sum.value();
}

struct File {
  explicit File(int fd) : fd(fd) {}
  ~File() {
    if (fd >= 0) close(fd);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool read_all(void* to, size_t bytes) const { return tilewright::read_all(fd, to, bytes); }
  bool write_all(const void* from, size_t bytes) const {
    return tilewright::write_all(fd, from, bytes);
  }

  int fd;
};

struct Entry {
  fs::path path;
  int64_t bytes, used;  // nanoseconds
};

/// The entries of the folder; files that nobody finishes are removed on the way.
std::vector<Entry> entries_of(const fs::path& folder) {
  std::vector<Entry> out;
  std::error_code ignored;
  for (const fs::directory_entry& f : fs::directory_iterator(folder, ignored)) {
    struct stat info;
    if (lstat(f.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const std::string name = f.path().filename().string();
    if (name.ends_with(kSuffix))
      out.push_back({f.path(), info.st_size,
                     info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec});
    else if (name.starts_with(kUnfinished) && time(nullptr) - info.st_mtime > kAbandonedSeconds)
      unlink(f.path().c_str());
  }
  return out;
}

std::string problem_with(const fs::path& folder) {
  std::error_code error;
  if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return std::string("cannot be made: ") + std::strerror(errno);
  struct stat info;
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return "is not a folder";
  if (info.st_uid != geteuid()) return "belongs to another user";
  if ((info.st_mode & 022) != 0) return "can be written by others; `chmod go-w` it";
  return {};
}

}  // namespace

DiskCache::DiskCache(fs::path folder, int64_t limit)
    : folder_(std::move(folder)), limit_(limit), problem_(problem_with(folder_)) {}

fs::path DiskCache::path_of(std::string_view key) const {
  char name[32];
  std::snprintf(name, sizeof name, "%016llx",
                static_cast<unsigned long long>(checksum(key.data(), key.size())));
  return folder_ / (name + std::string(kSuffix));
}

std::optional<std::string> DiskCache::find(std::string_view key) const {
  if (!problem_.empty()) return {};
  const File file(open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info;
  Header header;
  if (file.fd < 0 || fstat(file.fd, &info) != 0 || !file.read_all(&header, sizeof header))
    return {};
  const uint64_t rest = static_cast<uint64_t>(info.st_size) - sizeof header;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_bytes != key.size() ||
      header.key_bytes > rest || header.value_bytes != rest - header.key_bytes)
    return {};
  std::string content(rest, '\0');
  if (!file.read_all(content.data(), rest)) return {};
  const std::string_view all = content;
  if (all.substr(0, key.size()) != key || check_of(key, all.substr(key.size())) != header.check)
    return {};
  futimens(file.fd, nullptr);  // used now: the last to be removed
  return content.substr(key.size());
}

void DiskCache::put(std::string_view key, std::string_view value) const {
  if (!problem_.empty()) return;
  std::string part = (folder_ / (std::string(kUnfinished) + "XXXXXX")).string();
  const File file(mkostemp(part.data(), O_CLOEXEC));
  if (file.fd < 0) return;
  Header header{{}, key.size(), value.size(), check_of(key, value)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  // Nothing is forced to the disk: an entry that a power cut leaves half written fails its check.
  if (!file.write_all(&header, sizeof header) || !file.write_all(key.data(), key.size()) ||
      !file.write_all(value.data(), value.size()) ||
      rename(part.c_str(), path_of(key).c_str()) != 0)
    unlink(part.c_str());
}

DiskCache::Usage DiskCache::usage() const {
  Usage out;
  for (const Entry& e : entries_of(folder_)) {
    ++out.entries;
    out.bytes += e.bytes;
  }
  return out;
}

void DiskCache::trim() const {
  if (!problem_.empty()) return;
  std::vector<Entry> entries = entries_of(folder_);
  int64_t bytes = 0;
  for (const Entry& e : entries) bytes += e.bytes;
  if (bytes <= limit_) return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& e : entries) {
    if (bytes <= limit_) break;
    unlink(e.path.c_str());
    bytes -= e.bytes;
  }
}

DiskCache::Usage DiskCache::clear() const {
  Usage out;
  for (const Entry& e : entries_of(folder_)) {
    if (unlink(e.path.c_str()) != 0) continue;
    ++out.entries;
    out.bytes += e.bytes;
  }
  return out;
}

}  // namespace tilewright
