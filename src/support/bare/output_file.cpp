// SPDX-License-Identifier: Apache-2.0
#include "support/bare/output_file.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright {
namespace {

/// With the slash at its end; empty for the current folder.
std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

/// Whether the path stands for a descriptor that is open already: others write there, too.
bool names_descriptor(const std::string& path) {
  for (const char* start : {"/dev/fd/", "/dev/stdout", "/dev/stderr"})
    if (path.starts_with(start)) return true;
  return path.starts_with("/proc/") && path.find("/fd/") != std::string::npos;
}

/// Where a chain of symbolic links leads, whether something is there or not.
std::string followed(std::string path) {
  constexpr int kMost = 40;  // as the system; opening a longer chain says so
  for (int i = 0; i < kMost && !names_descriptor(path); ++i) {
    char to[PATH_MAX];
    const ssize_t n = readlink(path.c_str(), to, sizeof to);
    if (n <= 0 || n == PATH_MAX) break;
    const std::string link(to, static_cast<size_t>(n));
    path = link[0] == '/' ? link : folder_of(path) + link;
  }
  return path;
}

/// The folder's entry survives a crash only when the folder is synced too.
void sync_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

OutputFile::OutputFile(std::string path, Rights rights)
    : path_(std::move(path)), target_(followed(path_)) {
  struct stat there{};
  const bool exists = stat(path_.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode))
    fail(EISDIR);
  else if ((exists && !S_ISREG(there.st_mode)) || names_descriptor(target_))
    open_straight();
  else
    open_beside(rights);
}

OutputFile::~OutputFile() { drop(); }

void OutputFile::open_straight() {
  fd_ = open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0) fail(errno);
}

void OutputFile::open_beside(Rights rights) {
  struct stat old{};
  const bool replaces = stat(target_.c_str(), &old) == 0;
  // Renaming needs rights to the folder only, but a file that may not be written shall stay.
  if (replaces && faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) {
    fail(errno);
    return;
  }
  for (int i = 0; fd_ < 0 && i < 1000; ++i) {
    temporary_ = folder_of(target_) + ".tilewright-" + std::to_string(getpid()) + "-" +
                 std::to_string(i) + ".part";
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
               rights == Rights::Program ? 0777 : 0666);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) {
    const int error = errno;
    const std::string folder = folder_of(target_);
    temporary_.clear();
    struct stat about{};
    if (error == ENOENT && stat(folder.c_str(), &about) != 0)
      fail("there is no folder `" + folder.substr(0, folder.size() - 1) + "`");
    else if (error == EACCES || error == EPERM)
      fail("no file can be made in its folder: " + std::string(std::strerror(error)));
    else
      fail(error);
    return;
  }
  if (!replaces) return;
  // Only a privileged process can give a file away; for others it is theirs from now on.
  if ((old.st_uid != geteuid() || old.st_gid != getegid()) &&
      fchown(fd_, old.st_uid, old.st_gid) != 0 &&
      fchown(fd_, static_cast<uid_t>(-1), old.st_gid) != 0)
    errno = 0;
  if (fchmod(fd_, old.st_mode & 07777) != 0) fail(errno);
}

bool OutputFile::fail(const std::string& why) {
  if (problem_.empty()) problem_ = "cannot write `" + path_ + "`: " + why;
  drop();
  return false;
}

bool OutputFile::fail(int error) { return fail(std::string(std::strerror(error))); }

void OutputFile::drop() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

bool OutputFile::write(const void* data, size_t bytes) {
  const auto* p = static_cast<const char*>(data);
  while (fd_ >= 0 && bytes > 0) {
    const ssize_t n = ::write(fd_, p, std::min<size_t>(bytes, size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(n < 0 ? errno : ENOSPC);
    p += n;
    bytes -= static_cast<size_t>(n);
  }
  return fd_ >= 0;
}

std::string OutputFile::commit() {
  if (fd_ < 0) return problem_;
  const bool beside = !temporary_.empty();
  if (beside && fsync(fd_) != 0) fail(errno);
  if (fd_ < 0) return problem_;
  const int closed = close(fd_);
  fd_ = -1;
  if (closed != 0 || (beside && rename(temporary_.c_str(), target_.c_str()) != 0)) {
    fail(errno);
    return problem_;
  }
  temporary_.clear();
  if (beside) sync_folder_of(target_);
  return "";
}

}  // namespace tilewright
