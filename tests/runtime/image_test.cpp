// SPDX-License-Identifier: Apache-2.0
// ImageDecoder: plain images, and what the runtime hands on to a decoder from outside.
#include <cstdlib>
#include <random>

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

struct BmpOptions {
  int bits = 24, compression = 0;
  int header = 40;     // 12: OS/2's
  Bytes palette = {};  // or masks
  int colors = 0;
};

/// The bottom row first, each row a multiple of 4 bytes; those of a negative height from the top.
Bytes bmp(int width, int height, const Bytes& rows, const BmpOptions& o = {}) {
  Bytes file{'B', 'M'};
  const auto add = [&](int64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i, value >>= 8) file.push_back(static_cast<uint8_t>(value));
  };
  add(0, 8);
  add(14 + o.header + static_cast<int>(o.palette.size()), 4);
  add(o.header, 4);
  const int wide = o.header == 12 ? 2 : 4;
  add(width, wide);
  add(height, wide);
  add(1, 2);
  add(o.bits, 2);
  if (o.header > 12) {
    add(o.compression, 4);
    add(0, 12);
    add(o.colors, 4);
    add(0, 4);
  }
  file.insert(file.end(), o.palette.begin(), o.palette.end());
  file.resize(std::max(file.size(), static_cast<size_t>(14 + o.header)));
  file.insert(file.end(), rows.begin(), rows.end());
  return file;
}

/// Decoders for the tests, which must not stay.
struct Given {
  explicit Given(tw_image_decoder decoder) { tw_set_image_decoder(decoder); }
  ~Given() { tw_set_image_decoder(nullptr); }
};

Bytes times_3(const Bytes& gray) {
  Bytes out;
  for (const uint8_t v : gray) out.insert(out.end(), 3, v);
  return out;
}

TEST(ImageDecoder, ReadsPackedPixmaps) {
  const Bytes samples{10, 20, 30, 40, 50, 60};
  EXPECT_EQ(decoded(ppm("P6 2 1 255\n", samples)), (Image{{1, 2, 3}, samples}));
  EXPECT_EQ(decoded(ppm("P6 2 1 255\n", samples), kBgr),
            (Image{{1, 2, 3}, {30, 20, 10, 60, 50, 40}}));
  EXPECT_EQ(decoded(ppm("P6 2 1 255\n", samples), kGray), (Image{{1, 2, 1}, {18, 48}}));
  EXPECT_EQ(decoded(ppm("P5\n# grey\n3 1\n255\n", {1, 2, 3})),
            (Image{{1, 3, 3}, times_3({1, 2, 3})}));
  // Of other depths, and beyond: 15 is white.
  EXPECT_EQ(decoded(ppm("P5 3 1 15 ", {0, 7, 99})), (Image{{1, 3, 3}, times_3({0, 119, 255})}));
  EXPECT_EQ(decoded(ppm("P5 2 1 65535 ", {0xFF, 0xFF, 0x12, 0x80})),
            (Image{{1, 2, 3}, times_3({255, 18})}));
  // Bits fill whole bytes in each row; 1 is black.
  EXPECT_EQ(decoded(ppm("P4 9 2 ", {0x80, 0x80, 0x01, 0x00}), kGray),
            (Image{{2, 9, 1},
                   {0, 255, 255, 255, 255, 255, 255, 255, 0,  //
                    255, 255, 255, 255, 255, 255, 255, 0, 255}}));
}

TEST(ImageDecoder, ReadsPixmapsOfCharacters) {
  EXPECT_EQ(decoded(ppm("P1 3 2 101 # and\n 0 11", {}), kGray),
            (Image{{2, 3, 1}, {0, 255, 0, 255, 0, 0}}));
  EXPECT_EQ(decoded(ppm("P2 2 1 100 0\n50", {}), kGray), (Image{{1, 2, 1}, {0, 128}}));
  EXPECT_EQ(decoded(ppm("P3 1 1 255 1 2 3", {})), (Image{{1, 1, 3}, {1, 2, 3}}));
  for (const char* damaged : {"P1 3 2 10101", "P1 2 1 12", "P2 2 1 100 0 101", "P3 1 1 255 1 2 x",
                              "P2 0 1 255 ", "P2 1 1 0 0", "P2 1", "P6 1 1 65536 ......"})
    EXPECT_EQ(decoded(ppm(damaged, {})), kNothing) << damaged;
}

TEST(ImageDecoder, ReadsColoursOfBmp) {
  const Image two{{2, 1, 3}, {6, 5, 4, 3, 2, 1}};
  EXPECT_EQ(decoded(bmp(1, 2, {1, 2, 3, 0, 4, 5, 6, 0})), two);
  EXPECT_EQ(decoded(bmp(1, -2, {4, 5, 6, 0, 1, 2, 3, 0})), two);
  EXPECT_EQ(decoded(bmp(1, 2, {1, 2, 3, 0, 4, 5, 6, 0}, {.header = 12})), two);
  EXPECT_EQ(decoded(bmp(1, 2, {1, 2, 3, 9, 4, 5, 6, 9}, {.bits = 32})), two);
  // 5 bits for each colour; 5, 6 and 5; the colours of 32 bits the other way round.
  EXPECT_EQ(decoded(bmp(2, 1, {0x1F, 0x7C, 0xE0, 0x03}, {.bits = 16})),
            (Image{{1, 2, 3}, {255, 0, 255, 0, 255, 0}}));
  const Bytes masks{0, 0xF8, 0, 0, 0xE0, 7, 0, 0, 0x1F, 0, 0, 0};
  EXPECT_EQ(decoded(bmp(2, 1, {0x20, 0x00, 0x00, 0x80},
                        {.bits = 16, .compression = 3, .palette = masks})),
            (Image{{1, 2, 3}, {0, 4, 0, 131, 0, 0}}));
  const Bytes turned{0xFF, 0, 0, 0, 0, 0xFF, 0, 0, 0, 0, 0xFF, 0};
  EXPECT_EQ(decoded(bmp(1, 1, {1, 2, 3, 4}, {.bits = 32, .compression = 3, .palette = turned})),
            (Image{{1, 1, 3}, {1, 2, 3}}));
}

const Bytes kFour{0, 0, 0, 0, 1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 0};

TEST(ImageDecoder, LooksColoursOfBmpUp) {
  const auto file = [](int width, const Bytes& row, int bits) {
    return bmp(width, 1, row, {.bits = bits, .palette = kFour, .colors = 4});
  };
  EXPECT_EQ(decoded(file(3, {3, 1, 2, 0}, 8), kGray), (Image{{1, 3, 1}, {3, 1, 2}}));
  EXPECT_EQ(decoded(file(3, {0x31, 0x20, 0, 0}, 4), kGray), (Image{{1, 3, 1}, {3, 1, 2}}));
  EXPECT_EQ(decoded(file(5, {0xC6, 0x40, 0, 0}, 2), kGray), (Image{{1, 5, 1}, {3, 0, 1, 2, 1}}));
  EXPECT_EQ(decoded(file(9, {0x41, 0x80, 0, 0}, 1), kGray),
            (Image{{1, 9, 1}, {0, 1, 0, 0, 0, 0, 0, 1, 1}}));
  EXPECT_EQ(decoded(file(2, {3, 200, 0, 0}, 8), kGray), (Image{{1, 2, 1}, {3, 0}})) << "no colour";
  const BmpOptions old{.bits = 1, .header = 12, .palette = {9, 8, 7, 6, 5, 4}};
  EXPECT_EQ(decoded(bmp(2, 1, {0x40, 0, 0, 0}, old)), (Image{{1, 2, 3}, {7, 8, 9, 4, 5, 6}}));
}

TEST(ImageDecoder, ReadsRunsOfBmp) {
  const auto file = [](const Bytes& runs, int bits) {
    return bmp(4, 3, runs,
               {.bits = bits, .compression = bits == 8 ? 1 : 2, .palette = kFour, .colors = 4});
  };
  // The lowest row: a run and two as they are; the next: a step over two; then the end.
  const Image image{{3, 4, 1}, {0, 0, 0, 0, 0, 0, 3, 3, 1, 1, 2, 3}};
  EXPECT_EQ(decoded(file({2, 1, 1, 2, 1, 3, 0, 0, 0, 2, 2, 0, 2, 3, 0, 1}, 8), kGray), image);
  EXPECT_EQ(decoded(file({1, 1, 0, 3, 1, 2, 3, 0, 0, 0, 0, 2, 2, 0, 2, 3, 0, 1}, 8), kGray), image);
  EXPECT_EQ(decoded(file({2, 0x11, 2, 0x23, 0, 0, 0, 2, 2, 0, 2, 0x33, 0, 1}, 4), kGray), image);
  EXPECT_EQ(decoded(file({1, 0x10, 0, 3, 0x12, 0x30, 0, 0, 0, 2, 2, 0, 2, 0x33, 0, 1}, 4), kGray),
            image);
  // Beyond the border nothing is drawn; without its end the image is none.
  EXPECT_EQ(decoded(file({200, 3, 0, 0, 9, 2, 0, 2, 9, 9, 9, 9, 0, 1}, 8), kGray),
            (Image{{3, 4, 1}, {0, 0, 0, 0, 2, 2, 2, 2, 3, 3, 3, 3}}));
  EXPECT_EQ(decoded(file({2, 1}, 8)), kNothing);
  EXPECT_EQ(decoded(file({0, 9, 1}, 8)), kNothing);
}

TEST(ImageDecoder, GivesNothingForBytesThatAreNoImage) {
  EXPECT_EQ(decoded({}), kNothing);
  EXPECT_EQ(decoded({'G', 'I', 'F', '8', '9', 'a'}), kNothing);
  EXPECT_EQ(decoded(ppm("P6 2 1 255\n", {10, 20, 30})), kNothing);
  EXPECT_EQ(decoded(bmp(9, 9, {1, 2, 3})), kNothing);
  EXPECT_EQ(decoded({'B', 'M'}, kGray), (Image{{0, 0, 1}, {}}));
}

TEST(ImageDecoder, SaysWhichBmpItDoesNotRead) {
  EXPECT_TRUE(contains(error_of([] { decoded(bmp(1, 1, {0}, {.compression = 4})); }),
                       "a BMP with compression 4, which is not read"));
  const Bytes large = bmp(1 << 20, 1 << 20, {0, 1}, {.bits = 8, .compression = 1});
  EXPECT_TRUE(contains(error_of([&] { decoded(large); }), "of more than 2^28 pixels"));
}

/// Whatever the bytes are, there is an image, none, or an error.
TEST(ImageDecoder, SurvivesChangedBytes) {
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  const Loaded loaded(decoder_model(kRgb));
  tw::Context context(loaded.module);
  const std::vector<Bytes> good{
      ppm("P6 4 3 255\n", Bytes(36, 7)),
      ppm("P1 3 2 101 # and\n 0 11", {}),
      ppm("P2 2 1 100 0\n50", {}),
      ppm("P4 9 2 ", Bytes(4)),
      bmp(5, 4, Bytes(64, 9)),
      bmp(4, 3, Bytes(12), {.bits = 8, .palette = kFour, .colors = 4}),
      bmp(4, 3, {1, 1, 0, 3, 1, 2, 3, 0, 0, 0, 0, 2, 2, 0, 2, 3, 0, 1},
          {.bits = 8, .compression = 1, .palette = kFour, .colors = 4}),
      bmp(4, 3, {1, 0x10, 0, 3, 0x12, 0x30, 0, 0, 0, 2, 2, 0, 2, 0x33, 0, 1},
          {.bits = 4, .compression = 2, .palette = kFour, .colors = 4}),
      bmp(2, 1, Bytes(8), {.bits = 16, .compression = 3, .palette = Bytes(12, 31)})};
  int images = 0;
  constexpr int kRuns = 5000;
  for (int i = 0; i < kRuns; ++i) {
    Bytes file = good[below(good.size())];
    for (size_t n = below(4); n > 0; --n)
      file[below(file.size())] = static_cast<uint8_t>(below(256));
    if (below(4) == 0) file.resize(1 + below(file.size()));
    file.shrink_to_fit();  // a sanitizer sees what is read beyond
    context.set_input(0, file.data(), {static_cast<int64_t>(file.size())});
    const tw_status status = tw_run(context.get());
    if (status != TW_OK) {
      EXPECT_TRUE(status == TW_UNSUPPORTED || status == TW_OUT_OF_MEMORY) << status;
      continue;
    }
    images += context.output(0).count() > 0 ? 1 : 0;
  }
  EXPECT_GT(images, kRuns / 4);
  EXPECT_LT(images, kRuns * 9 / 10);
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
  EXPECT_TRUE(contains(with(1 << 20), "no memory for tensor `image` of 3145728 bytes"));
  EXPECT_EQ(with(1 << 23), "out of memory: host operator `image_decode`: no scratch");
  EXPECT_EQ(with(1 << 26), "no error");
}

}  // namespace
}  // namespace tilewright
