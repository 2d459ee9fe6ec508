// SPDX-License-Identifier: Apache-2.0
#include "frontend/npz.h"

#include <set>

#include "frontend/npy.h"
#include "frontend/zip.h"
#include "support/diagnostic.h"
#include "support/mapped_file.h"
#include "support/str.h"

namespace tilewright::frontend {

std::vector<NamedTensor> read_npz(const std::filesystem::path& path, const WantedElem& wanted) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const std::string where = str("`", path.string(), "`");
  std::vector<NamedTensor> out;
  const auto add = [&](std::string name, Bytes bytes, const std::shared_ptr<const void>& owner,
                       const std::string& what) {
    const std::optional<ir::Elem> elem = wanted ? wanted(name) : std::nullopt;
    out.push_back({.name = std::move(name), .value = read_npy(bytes, owner, elem, what)});
  };
  if (!file->bytes().empty() && file->bytes()[0] == std::byte{0x93}) {
    add("", file->bytes(), file, where);
    return out;
  }
  std::set<std::string> names;
  for (const ZipEntry& entry : read_zip(file->bytes(), file, where)) {
    std::string name = entry.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    const std::string what = str("array `", name, "` of ", where);
    if (!names.insert(name).second)
      throw Error({.code = "frontend.npz.twice",
                   .at = {},
                   .message = str(what, " is there twice"),
                   .notes = {},
                   .help = "write it with numpy.savez, each array under a name of its own"});
    add(std::move(name), entry.bytes, entry.owner, what);
  }
  return out;
}

void write_npz(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors) {
  ZipWriter out(path);
  for (const NamedTensor& t : tensors) {
    const NpyParts parts = npy_parts(t.value, str("tensor `", t.name, "`"));
    out.add(t.name + ".npy", {std::as_bytes(std::span(parts.header)), parts.data()});
  }
  out.finish();
}

}  // namespace tilewright::frontend
