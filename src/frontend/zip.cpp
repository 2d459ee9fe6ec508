// SPDX-License-Identifier: Apache-2.0
// Archives as APPNOTE.TXT of PKWARE describes them: entries, each after a header of its own, then a
// directory of them all, then the place of the directory. Sizes of 2^32 and more stand in "zip64"
// fields, which the writer always uses.
#include "frontend/zip.h"

#include <cstring>
#include <optional>
#include <zlib.h>

#include "support/diagnostic.h"
#include "support/str.h"
#include "support/write_file.h"

namespace tilewright::frontend {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint32_t kIn64 = 0xffffffff;  // the value stands in the zip64 field
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;
/// Deflate makes at most this much of a byte.
constexpr uint64_t kMaxRatio = 1032;

class Archive {
 public:
  Archive(Bytes bytes, const std::string& what) : bytes_(bytes), what_(what) {}

  [[noreturn]] void refuse(std::string_view code, const std::string& fact) const {
    throw Error({.code = code,
                 .at = {},
                 .message = str(what_, ": ", fact),
                 .notes = {},
                 .help = "write it with numpy.savez or numpy.savez_compressed"});
  }

  Bytes part(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      refuse("frontend.zip.truncated", "it is cut off, or not a zip archive");
    return bytes_.subspan(offset, size);
  }
  template <class T>
  T get(uint64_t offset) const {
    T value;
    std::memcpy(&value, part(offset, sizeof value).data(), sizeof value);
    return value;
  }

  struct Directory {
    uint64_t entries, offset;
  };
  Directory directory() const {
    // The end record is last but for a comment of up to 2^16 bytes.
    for (uint64_t back = kEndSize; back <= bytes_.size() && back < kEndSize + 65536; ++back) {
      const uint64_t at = bytes_.size() - back;
      if (get<uint32_t>(at) != kEnd || get<uint16_t>(at + 20) != back - kEndSize) continue;
      Directory out{get<uint16_t>(at + 10), get<uint32_t>(at + 16)};
      if (at >= 20 && get<uint32_t>(at - 20) == kLocator64) {
        const uint64_t end64 = get<uint64_t>(at - 20 + 8);
        if (get<uint32_t>(end64) != kEnd64)
          refuse("frontend.zip.damaged", "its zip64 directory is not where it should be");
        out = {get<uint64_t>(end64 + 32), get<uint64_t>(end64 + 48)};
      }
      return out;
    }
    refuse("frontend.zip.truncated", "it is cut off, or not a zip archive");
  }

 private:
  Bytes bytes_;
  const std::string& what_;
};

/// One entry of the directory.
struct Header {
  std::string name;
  uint16_t flags, method;
  uint32_t sum;
  uint64_t packed, size, offset;
  uint64_t next;  // where the next entry of the directory is
};

Header read_header(const Archive& in, uint64_t at) {
  if (in.get<uint32_t>(at) != kCentral)
    in.refuse("frontend.zip.damaged", "its directory is damaged");
  Header out{.name = {},
             .flags = in.get<uint16_t>(at + 8),
             .method = in.get<uint16_t>(at + 10),
             .sum = in.get<uint32_t>(at + 16),
             .packed = in.get<uint32_t>(at + 20),
             .size = in.get<uint32_t>(at + 24),
             .offset = in.get<uint32_t>(at + 42),
             .next = 0};
  const uint64_t name = in.get<uint16_t>(at + 28), extra = in.get<uint16_t>(at + 30);
  const Bytes text = in.part(at + kCentralSize, name);
  out.name.assign(reinterpret_cast<const char*>(text.data()), text.size());
  uint64_t field = at + kCentralSize + name;
  const uint64_t end = field + extra;
  out.next = end + in.get<uint16_t>(at + 32);
  while (field + 4 <= end) {
    const uint64_t value = field + 4, stop = value + in.get<uint16_t>(field + 2);
    if (in.get<uint16_t>(field) == 1) {  // zip64: those of the three that do not fit, in this order
      uint64_t from = value;
      for (uint64_t* number : {&out.size, &out.packed, &out.offset})
        if (*number == kIn64 && from + 8 <= stop) {
          *number = in.get<uint64_t>(from);
          from += 8;
        }
    }
    field = stop;
  }
  return out;
}

std::vector<std::byte> inflated(const Archive& in, const Header& header, Bytes packed) {
  if (header.size / kMaxRatio > packed.size())
    in.refuse("frontend.zip.damaged", str("`", header.name, "` states an impossible size"));
  std::vector<std::byte> out(header.size);
  z_stream stream{};
  require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "zlib does not start");
  const struct Closer {
    z_stream& stream;
    ~Closer() { inflateEnd(&stream); }
  } closer{stream};
  size_t from = 0, to = 0;
  int status = Z_OK;
  while (status == Z_OK) {  // zlib counts in 32 bits
    const auto piece = [](size_t left) {
      return static_cast<uInt>(std::min<size_t>(left, 1 << 30));
    };
    const uInt give = piece(packed.size() - from), take = piece(out.size() - to);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + from));
    stream.avail_in = give;
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + to);
    stream.avail_out = take;
    status = inflate(&stream, Z_NO_FLUSH);
    from += give - stream.avail_in;
    to += take - stream.avail_out;
  }
  if (status != Z_STREAM_END || to != out.size())
    in.refuse("frontend.zip.damaged", str("`", header.name, "` does not unpack"));
  return out;
}

uint32_t sum_of(uint32_t sum, Bytes bytes) {
  if (bytes.empty()) return sum;  // zlib starts anew when it gets no address
  return static_cast<uint32_t>(
      crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::vector<ZipEntry> read_zip(Bytes bytes, const std::shared_ptr<const void>& owner,
                               const std::string& what) {
  const Archive in(bytes, what);
  const Archive::Directory directory = in.directory();
  std::vector<ZipEntry> out;
  uint64_t at = directory.offset, total = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    const Header header = read_header(in, at);
    at = header.next;
    if (in.get<uint32_t>(header.offset) != kLocal)
      in.refuse("frontend.zip.damaged", str("`", header.name, "` is not where it should be"));
    const uint64_t data = header.offset + kLocalSize + in.get<uint16_t>(header.offset + 26) +
                          in.get<uint16_t>(header.offset + 28);
    const Bytes packed = in.part(data, header.packed);
    total += packed.size();  // entries that overlap would unpack to more than the file could hold
    if (total > bytes.size()) in.refuse("frontend.zip.damaged", "its files overlap");
    ZipEntry entry{.name = header.name, .bytes = packed, .owner = owner};
    if ((header.flags & 1) != 0 || (header.method != kStored && header.method != kDeflated))
      in.refuse("frontend.zip.method",
                str("`", header.name, "` is encrypted, or packed by method ", header.method));
    if (header.method == kDeflated) {
      const auto unpacked =
          std::make_shared<const std::vector<std::byte>>(inflated(in, header, packed));
      entry.bytes = *unpacked;
      entry.owner = unpacked;
    }
    if (entry.bytes.size() != header.size || sum_of(0, entry.bytes) != header.sum)
      in.refuse("frontend.zip.damaged",
                str("`", header.name, "` has another size or sum than stated"));
    out.push_back(std::move(entry));
  }
  return out;
}

struct ZipWriter::State {
  explicit State(const std::filesystem::path& path) : out(path.string()) {}

  OutputFile out;
  uint64_t offset = 0;
  std::string directory;
  uint64_t entries = 0;

  void put(Bytes bytes) {
    out.write(bytes.data(), bytes.size());
    offset += bytes.size();
  }
  void put(const std::string& text) { put(std::as_bytes(std::span(text))); }
};

namespace {

template <class... T>
void append(std::string& to, T... numbers) {
  (to.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
}

}  // namespace

ZipWriter::ZipWriter(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}

ZipWriter::~ZipWriter() = default;

void ZipWriter::add(const std::string& name, const std::vector<Bytes>& parts) {
  require(name.size() < 65536, "a name too long for an archive");
  uint64_t size = 0;
  uint32_t sum = 0;
  for (const Bytes part : parts) {
    size += part.size();
    sum = sum_of(sum, part);
  }
  constexpr uint16_t kVersion = 45, kUtf8 = 1 << 11, kEpoch = 0x21;  // the first of January 1980
  const auto name_size = static_cast<uint16_t>(name.size());
  const uint64_t start = state_->offset;
  std::string header;
  append(header, kLocal, kVersion, kUtf8, kStored, uint16_t{0}, kEpoch, sum, kIn64, kIn64,
         name_size, uint16_t{20});
  header += name;
  append(header, uint16_t{1}, uint16_t{16}, size, size);
  state_->put(header);
  for (const Bytes part : parts) state_->put(part);

  std::string& entry = state_->directory;
  append(entry, kCentral, kVersion, kVersion, kUtf8, kStored, uint16_t{0}, kEpoch, sum, kIn64,
         kIn64, name_size, uint16_t{28}, uint16_t{0}, uint16_t{0}, uint16_t{0}, uint32_t{0}, kIn64);
  entry += name;
  append(entry, uint16_t{1}, uint16_t{24}, size, size, start);
  ++state_->entries;
}

void ZipWriter::finish() {
  State& s = *state_;
  const uint64_t directory = s.offset;
  s.put(s.directory);
  const uint64_t end = s.offset, size = end - directory;
  std::string tail;
  append(tail, kEnd64, uint64_t{44}, uint16_t{45}, uint16_t{45}, uint32_t{0}, uint32_t{0},
         s.entries, s.entries, size, directory);
  append(tail, kLocator64, uint32_t{0}, end, uint32_t{1});
  append(tail, kEnd, uint16_t{0}, uint16_t{0}, uint16_t{0xffff}, uint16_t{0xffff}, kIn64, kIn64,
         uint16_t{0});
  s.put(tail);
  commit(s.out);
}

}  // namespace tilewright::frontend
