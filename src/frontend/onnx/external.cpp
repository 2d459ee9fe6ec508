// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/external.h"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::frontend::onnx {
namespace {

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

[[noreturn]] void refuse(std::string_view code, const std::string& what, std::string fact,
                         std::string help) {
  throw Error({.code = code,
               .at = {},
               .message = str("the data of ", what, ": ", fact),
               .notes = {},
               .help = std::move(help)});
}

int64_t number(const std::string& what, const StringStringEntryProto& entry) {
  int64_t value = 0;
  const char* const end = entry.value.data() + entry.value.size();
  const auto [stop, error] = std::from_chars(entry.value.data(), end, value);
  if (error != std::errc() || stop != end || value < 0)
    refuse("frontend.onnx.external_entry", what,
           str("`", entry.key, "` is `", entry.value, "`, not a number of bytes"),
           "write it with decimal digits");
  return value;
}

}  // namespace

ExternalFiles::Data ExternalFiles::read(const TensorProto& tensor, const std::string& what,
                                        int64_t size) {
  std::string location;
  int64_t offset = 0, length = size;
  for (const StringStringEntryProto& entry : tensor.external_data) {
    if (entry.key == "location")
      location = entry.value;
    else if (entry.key == "offset")
      offset = number(what, entry);
    else if (entry.key == "length")
      length = number(what, entry);
    else if (entry.key != "checksum")  // of the whole file; ONNX's own reader passes it over too
      refuse(
          "frontend.onnx.external_entry", what, str("unknown key `", entry.key, "`"),
          "ONNX knows location, offset, length and checksum; save the model again with onnx.save");
  }
  if (location.empty())
    refuse("frontend.onnx.external_entry", what, "no location of the file is given",
           "save the model again with onnx.save");
  if (length != size)
    refuse("frontend.onnx.external_size", what,
           str("`", location, "` is to hold ", length, " bytes of it, its shape takes ", size),
           "save the model again with onnx.save");
  const std::shared_ptr<const MappedFile> file = open(what, location);
  const int64_t there = static_cast<int64_t>(file->bytes().size());
  if (offset > there || length > there - offset)
    refuse("frontend.onnx.external_size", what,
           str("bytes ", offset, " to ", offset, " + ", length, " of `", location, "`, which has ",
               there),
           "the file may be cut off or belong to another model: download or save both again");
  return {file->bytes().subspan(static_cast<size_t>(offset), static_cast<size_t>(length)), file};
}

std::shared_ptr<const MappedFile> ExternalFiles::open(const std::string& what,
                                                      const std::string& location) {
  std::shared_ptr<const MappedFile>& file = files_[location];
  if (file) return file;
  if (folder_.empty())
    refuse("frontend.onnx.external_folder", what,
           str("it lies in the file `", location, "`, but the model was given as bytes"),
           "give the path of the model, or load the tensors with onnx.load first");

  const Descriptor folder{::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  struct open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  // The system call, as the C library has no function for it. It fails on a folder that is not
  // there.
  const Descriptor opened{
      static_cast<int>(syscall(SYS_openat2, folder.number, location.c_str(), &how, sizeof how))};
  if (opened.number < 0) {
    const int why = errno;
    const bool escapes = why == EXDEV || why == ELOOP;
    refuse("frontend.onnx.external_open", what,
           str("cannot open `", location, "`: ",
               escapes ? "it leads out of the model's folder, or through a link"
                       : std::generic_category().message(why)),
           why == ENOSYS ? "Linux 5.6 or newer is needed to open such files safely"
                         : "put the file, not a link to it, into the folder of the model");
  }
  struct stat info{};
  if (fstat(opened.number, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 1)
    refuse("frontend.onnx.external_open", what,
           str("`", location, "` is not a plain file of one name"),
           "put a copy of the file, not a hard link to it, into the folder of the model");
  if (on_file_) on_file_(folder_ / location);
  file = MappedFile::map(opened.number, folder_ / location);
  return file;
}

}  // namespace tilewright::frontend::onnx
