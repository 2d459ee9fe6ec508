// SPDX-License-Identifier: Apache-2.0
// ImageDecoder: plain images, and what the runtime hands on to a decoder from outside.
#include <cstdlib>

#include "runtime/fixtures.h"

namespace tilewright {
namespace {

using Bytes = std::vector<uint8_t>;

enum Channels : int64_t { kRgb, kBgr, kGray };

Module decoder_model(Channels channels) {
  Sample s;
  PlanBuilder& p = s.plan;
  s.module.inputs.push_back({.name = "file", .type = {ElemType::U8}});
  s.module.inputs.back().dims.resize(1);
  p.bind(0, 0, {});
  s.module.outputs.push_back({.name = "image", .type = {ElemType::U8}});
  s.module.outputs.back().dims.resize(3);
  p.end_prologue(p.constant(0));
  const HostAttribute attributes[] = {{"channels", int64_t{channels}}};
  p.host_call("image_decode", attributes, std::vector{p.input(0)}, std::vector{p.output(0)});
  return s.finish();
}

struct Image {
  std::vector<int64_t> dims;
  Bytes pixels;
  friend bool operator==(const Image&, const Image&) = default;
};

void PrintTo(const Image& image, std::ostream* out) {
  *out << testing::PrintToString(image.dims) << testing::PrintToString(image.pixels);
}

Image decoded(const Bytes& file, Channels channels = kRgb,
              const tw_allocator* allocator = nullptr) {
  const Loaded loaded(decoder_model(channels));
  tw::Context context(loaded.module, {.allocator = allocator});
  context.set_input(0, file.data(), {static_cast<int64_t>(file.size())});
  context.run();
  const tw::Value image = context.output_value(0);
  return {list(image.view().dims()), list(image.view().data<uint8_t>())};
}

const Image kNothing{{0, 0, 3}, {}};

Bytes ppm(const std::string& header, const Bytes& samples) {
  Bytes file(header.begin(), header.end());
  file.insert(file.end(), samples.begin(), samples.end());
  return file;
}

/// 24 bits a pixel, the bottom row first, each row a multiple of 4 bytes.
Bytes bmp(int width, int height, const Bytes& rows) {
  Bytes file(54, 0);
  file[0] = 'B';
  file[1] = 'M';
  file[10] = 54;
  file[14] = 40;
  file[18] = static_cast<uint8_t>(width);
  file[22] = static_cast<uint8_t>(height);
  file[26] = 1;
  file[28] = 24;
  file.insert(file.end(), rows.begin(), rows.end());
  return file;
}

/// Decoders for the tests, which must not stay.
struct Given {
  explicit Given(tw_image_decoder decoder) { tw_set_image_decoder(decoder); }
  ~Given() { tw_set_image_decoder(nullptr); }
};

TEST(ImageDecoder, ReadsPlainImages) {
  const Bytes samples{10, 20, 30, 40, 50, 60};
  EXPECT_EQ(decoded(ppm("P6 2 1 255\n", samples)), (Image{{1, 2, 3}, samples}));
  EXPECT_EQ(decoded(ppm("P6 2 1 255\n", samples), kBgr),
            (Image{{1, 2, 3}, {30, 20, 10, 60, 50, 40}}));
  EXPECT_EQ(decoded(ppm("P6 2 1 255\n", samples), kGray), (Image{{1, 2, 1}, {18, 48}}));
  EXPECT_EQ(decoded(ppm("P5\n# grey\n3 1\n255\n", {1, 2, 3})),
            (Image{{1, 3, 3}, {1, 1, 1, 2, 2, 2, 3, 3, 3}}));
  EXPECT_EQ(decoded(bmp(1, 2, {1, 2, 3, 0, 4, 5, 6, 0})), (Image{{2, 1, 3}, {6, 5, 4, 3, 2, 1}}));
}

TEST(ImageDecoder, GivesNothingForBytesThatAreNoImage) {
  EXPECT_EQ(decoded({}), kNothing);
  EXPECT_EQ(decoded({'G', 'I', 'F', '8', '9', 'a'}), kNothing);
  EXPECT_EQ(decoded(ppm("P6 2 1 255\n", {10, 20, 30})), kNothing);
  EXPECT_EQ(decoded(bmp(9, 9, {1, 2, 3})), kNothing);
  EXPECT_EQ(decoded({'B', 'M'}, kGray), (Image{{0, 0, 1}, {}}));
}

TEST(ImageDecoder, SaysWhichPlainImagesItDoesNotRead) {
  Bytes packed = bmp(1, 1, {1, 2, 3, 0});
  packed[30] = 1;
  for (const Bytes& file : {packed, ppm("P6 1 1 65535\n", Bytes(6))})
    EXPECT_TRUE(contains(error_of([&] { decoded(file); }),
                         "a packed BMP or has samples of more than a byte"));
}

TEST(ImageDecoder, NamesThePlugInThatIsMissing) {
  const std::vector<std::pair<std::string, Bytes>> starts{
      {"JPEG", {0xFF, 0xD8, 0xFF, 0xE0}},     {"PNG", {0x89, 'P', 'N', 'G'}},
      {"TIFF", {'I', 'I', '*', 0}},           {"TIFF", {'M', 'M', 0, '*'}},
      {"WebP", {'R', 'I', 'F', 'F'}},         {"JPEG 2000", {0, 0, 0, 12, 'j', 'P', ' ', ' '}},
      {"JPEG 2000", {0xFF, 0x4F, 0xFF, 0x51}}};
  for (const auto& [name, start] : starts) {
    const std::string error = error_of([&] { decoded(start); });
    EXPECT_TRUE(contains(
        error, "unsupported: host operator `image_decode`: ImageDecoder is given a " + name +
                   ", for which the runtime needs its plug-in "
                   "libtilewright_images.so.0 ("))
        << error;
    EXPECT_TRUE(contains(error, "tw_set_image_decoder")) << error;
  }
}

/// Two rows of one pixel: the first three bytes of the file behind its first, and what was asked
/// for.
tw_status two_pixels(tw_image* image) {
  if (image->version != TW_IMAGE_VERSION || image->bytes < 4) return TW_BAD_INPUT;
  uint8_t* to = image->pixels(image->user, 2, 1);
  if (to == nullptr) return TW_OUT_OF_MEMORY;
  if (image->pixels(image->user, 2, 1) != nullptr) return TW_UNSUPPORTED;  // once is enough
  for (int i = 0; i < image->channels; ++i) {
    to[i] = image->data[1 + i];
    to[image->channels + i] = static_cast<uint8_t>(image->channels);
  }
  return TW_OK;
}

TEST(ImageDecoder, HandsOthersToTheDecoderItWasGiven) {
  const Given given(two_pixels);
  const Bytes file{'?', 7, 8, 9};
  EXPECT_EQ(decoded(file), (Image{{2, 1, 3}, {7, 8, 9, 3, 3, 3}}));
  EXPECT_EQ(decoded(file, kBgr), (Image{{2, 1, 3}, {9, 8, 7, 3, 3, 3}}));
  EXPECT_EQ(decoded(file, kGray), (Image{{2, 1, 1}, {7, 1}}));
  EXPECT_EQ(decoded({'?'}), kNothing);
  EXPECT_EQ(decoded(ppm("P5 1 1 255\n", {4})), (Image{{1, 1, 3}, {4, 4, 4}}));  // its own
}

TEST(ImageDecoder, TakesNothingOfAnImageThatFails) {
  const Given given([](tw_image* image) {
    image->pixels(image->user, 3, 3)[0] = 1;
    return TW_BAD_INPUT;
  });
  EXPECT_EQ(decoded({'?'}), kNothing);
}

TEST(ImageDecoder, SaysWhatTheDecoderSays) {
  {
    const Given given([](tw_image* image) {
      std::memcpy(image->message, "too large", 10);
      return TW_UNSUPPORTED;
    });
    EXPECT_EQ(error_of([] { decoded({'?'}); }),
              "unsupported: host operator `image_decode`: too large");
  }
  const Given given([](tw_image*) { return TW_OK; });
  EXPECT_EQ(error_of([] { decoded({'?'}); }),
            "run failed: host operator `image_decode`: the image decoder gives no pixels");
  tw_set_image_decoder([](tw_image* image) {
    return image->pixels(image->user, 0, 5) == nullptr ? TW_OK : TW_UNSUPPORTED;
  });
  EXPECT_TRUE(contains(error_of([] { decoded({'?'}); }), "gives no pixels"));
}

/// An image is no larger than the memory that the context may have.
TEST(ImageDecoder, TakesMemoryFromTheContext) {
  static size_t most = 0;
  const tw_allocator small{
      nullptr,
      [](void*, size_t bytes, size_t alignment) -> void* {
        void* p = nullptr;
        return bytes <= most && posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
      },
      [](void*, void* memory, size_t) { std::free(memory); }};
  const Given given([](tw_image* image) {
    if (image->pixels(image->user, 1024, 1024) == nullptr) return TW_OUT_OF_MEMORY;
    void* more = image->memory.allocate(image->memory.user, 1 << 25, 64);
    if (more == nullptr) {
      std::memcpy(image->message, "no scratch", 11);
      return TW_OUT_OF_MEMORY;
    }
    image->memory.release(image->memory.user, more, 1 << 25);
    return TW_BAD_INPUT;
  });
  const auto with = [&](size_t bytes) {
    most = bytes;
    return error_of([&] { decoded({'?'}, kRgb, &small); });
  };
  EXPECT_TRUE(contains(with(1 << 20), "out of memory: no memory for a tensor of 3145728 bytes"));
  EXPECT_EQ(with(1 << 23), "out of memory: host operator `image_decode`: no scratch");
  EXPECT_EQ(with(1 << 26), "no error");
}

}  // namespace
}  // namespace tilewright
