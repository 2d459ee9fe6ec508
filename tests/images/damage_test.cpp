// SPDX-License-Identifier: Apache-2.0
// Bytes that nobody answers for: an image or a reason, little memory, nothing printed.
#include <gtest/gtest.h>
#include <random>
#include <zlib.h>

#include "images/decoded.h"
#include "images/result.h"
#include "images/samples.h"

namespace tilewright::images {
namespace {

/// Whatever happened, the answer makes sense.
void expect_sound(const Decoded& d, const std::string& name) {
  EXPECT_EQ(d.held, 0u) << name;
  if (d.status == TW_OK)
    EXPECT_GT(d.height * d.width, 0) << name;
  else
    EXPECT_FALSE(d.message.empty()) << name;
  EXPECT_TRUE(d.status == TW_OK || d.status == TW_BAD_INPUT || d.status == TW_UNSUPPORTED ||
              d.status == TW_OUT_OF_MEMORY)
      << name << " " << d.status;
}

/// A run of the tests is to fit into little memory.
constexpr Memory kSmall{.most_pixels = size_t{1} << 24, .most = size_t{1} << 26};

TEST(Damage, SamplesAreSound) {
  for (const auto& [name, bytes] : all_samples()) EXPECT_EQ(decode(bytes).status, TW_OK) << name;
}

TEST(Damage, FilesThatEndTooEarly) {
  for (const auto& [name, bytes] : all_samples())
    for (size_t n = 0; n < bytes.size(); n += 1 + n / 60) {
      const Decoded d = decode({bytes.data(), n}, 3, kSmall);
      expect_sound(d, name);
      // Half a file has not all pixels. Of a TIFF without its palette libtiff takes them for grey.
      if (n < bytes.size() / 2 && name != "tiff palette") {
        EXPECT_NE(d.status, TW_OK) << name << " of " << n;
      }
    }
}

/// Makes the checksums of a PNG right, so that what lies behind them is reached.
void fix_png(Bytes& file) {
  const auto word = [&](size_t at) {
    return static_cast<uint32_t>(file[at] << 24 | file[at + 1] << 16 | file[at + 2] << 8 |
                                 file[at + 3]);
  };
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t bytes = word(at);
    if (bytes > file.size() - at - 12) break;
    const auto crc =
        static_cast<uint32_t>(crc32(0, file.data() + at + 4, static_cast<unsigned>(bytes + 4)));
    for (size_t i = 0; i < 4; ++i)
      file[at + 8 + bytes + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    at += bytes + 12;
  }
}

TEST(Damage, ChangedBytes) {
  constexpr uint8_t kTelling[] = {0, 1, 127, 128, 254, 255};
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  int decoded = 0, all = 0;
  for (const auto& [name, bytes] : all_samples())
    for (int i = 0; i < 500; ++i) {
      Bytes changed = bytes;
      for (size_t n = 1 + below(4) * below(4); n > 0; --n) {
        const size_t at =
            below(2) == 0 ? below(changed.size()) : below(std::min<size_t>(changed.size(), 160));
        changed[at] = below(2) == 0 ? kTelling[below(6)] : static_cast<uint8_t>(below(256));
      }
      if (below(8) == 0) changed.resize(below(changed.size()));
      if (name.starts_with("png") && below(4) != 0) fix_png(changed);
      const Decoded d = decode(changed, below(2) == 0 ? 1 : 3, kSmall);
      expect_sound(d, name);
      decoded += d.status == TW_OK ? 1 : 0;
      ++all;
    }
  // Neither all nor none: the changes reach the decoders.
  EXPECT_GT(decoded, all / 20);
  EXPECT_LT(decoded, all * 19 / 20);
}

void put(Bytes& bytes, size_t at, std::initializer_list<int> values) {
  for (const int v : values) bytes[at++] = static_cast<uint8_t>(v);
}

/// 65535 x 65535 pixels in a header of a few bytes.
TEST(Damage, HeadersThatPromiseTooMuch) {
  Bytes big_jpeg = jpeg(gradient());
  size_t at = 2;
  while (big_jpeg[at + 1] != 0xC0) at += 2u + (big_jpeg[at + 2] << 8u | big_jpeg[at + 3]);
  put(big_jpeg, at + 5, {0xFF, 0xDC, 0xFF, 0xDC});  // 65500, the most that libjpeg takes
  Bytes big_png = png(gradient());
  put(big_png, 16, {0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF});
  fix_png(big_png);
  Bytes big_jpeg2000 = jpeg2000(gradient(), {.boxes = false});
  put(big_jpeg2000, 8, {0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF});
  put(big_jpeg2000, 24, {0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF});  // one tile
  for (const Bytes& file : {big_jpeg, big_png, big_jpeg2000}) {
    const Decoded d = decode(file);
    EXPECT_EQ(d.status, TW_UNSUPPORTED);
    EXPECT_NE(d.message.find("more than the 2^28 that the decoder takes"), std::string::npos)
        << d.message;
    EXPECT_EQ(d.width, 0);
    EXPECT_LT(d.taken, size_t{1} << 20);
  }
}

/// A tile, or a component, costs OpenJPEG memory before it has seen a pixel.
TEST(Damage, TilesAndComponentsWithoutEnd) {
  Bytes tiles = jpeg2000(gradient(200, 200), {.boxes = false});
  put(tiles, 24, {0, 0, 0, 1, 0, 0, 0, 1});
  EXPECT_EQ(decode(tiles).message,
            "the JPEG 2000 has too many tiles, or not one to four components");
  Bytes components = jpeg2000(gradient(), {.boxes = false});
  put(components, 40, {0x40, 0});
  EXPECT_EQ(decode(components).message,
            "the JPEG 2000 has too many tiles, or not one to four components");
}

TEST(Damage, MemoryThatIsRefused) {
  for (const auto& [name, bytes] : all_samples()) {
    const Decoded no_pixels = decode(bytes, 3, {.most_pixels = 20});
    EXPECT_EQ(no_pixels.status, TW_OUT_OF_MEMORY) << name;
    const size_t needed = decode(bytes, 1).taken;
    if (needed == 0) continue;
    const Decoded no_scratch = decode(bytes, 1, {.most = needed - 1});
    EXPECT_EQ(no_scratch.status, TW_OUT_OF_MEMORY) << name;
    EXPECT_EQ(no_scratch.message, "no memory to decode an image");
    expect_sound(no_scratch, name);
  }
}

TEST(Damage, OtherBytes) {
  for (const std::string text : {"", "G", "GIF89a", "\xFF\xD8", "RIFF", "\x89PNG"}) {
    const Decoded d = decode({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    EXPECT_EQ(d.status, TW_BAD_INPUT) << text;
    EXPECT_FALSE(d.message.empty());
  }
}

TEST(Damage, ARuntimeOfAnotherVersion) {
  tw_image image{};
  image.version = TW_IMAGE_VERSION + 1;
  EXPECT_EQ(tw_decode_image(&image), TW_UNSUPPORTED);
  EXPECT_NE(std::string(image.message).find("different versions"), std::string::npos);
}

/// What a decoder warns of stays in it.
TEST(Damage, NothingIsPrinted) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  for (const auto& [name, bytes] : all_samples()) {
    Bytes changed = bytes;
    for (size_t at = 20; at < changed.size(); at += 37) changed[at] ^= 0x55;
    decode(changed, 3, kSmall);
    decode({bytes.data(), bytes.size() * 3 / 4}, 3, kSmall);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace tilewright::images
