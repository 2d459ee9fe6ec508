// SPDX-License-Identifier: Apache-2.0
// What each format's pixels become. Where a format loses nothing, the very samples are expected.
#include <algorithm>
#include <gtest/gtest.h>
#include <openjpeg.h>
#include <tiffio.h>

#include "images/decoded.h"
#include "images/result.h"
#include "images/samples.h"

namespace tilewright::images {
namespace {

using Color = std::vector<int>;

/// The colour of a pixel as RGB, from samples that are grey, RGB, or have transparency behind them.
Color rgb_of(const Picture& p, int y, int x) {
  if (p.channels < 3) return Color(3, p.at(y, x, 0));
  return {p.at(y, x, 0), p.at(y, x, 1), p.at(y, x, 2)};
}

/// The largest difference between the decoded image, as RGB and as grey, and what it should be.
int difference(const Bytes& file, int height, int width,
               const std::function<Color(int y, int x)>& expected) {
  int worst = 0;
  for (const int channels : {3, 1}) {
    const Decoded d = decode(file, channels);
    EXPECT_EQ(d.status, TW_OK) << d.message;
    EXPECT_EQ(d.held, 0u);
    EXPECT_EQ(d.height, height);
    EXPECT_EQ(d.width, width);
    if (d.status != TW_OK || d.height != height || d.width != width) return 1000;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        Color want = expected(y, x);
        if (channels == 1) want = {luma(want[0], want[1], want[2])};
        for (int c = 0; c < channels; ++c) {
          const int got = d.pixels[static_cast<size_t>((y * width + x) * channels + c)];
          worst = std::max(worst, std::abs(got - want[static_cast<size_t>(c)]));
        }
      }
  }
  return worst;
}

int difference(const Bytes& file, const Picture& p) {
  return difference(file, p.height, p.width, [&](int y, int x) { return rgb_of(p, y, x); });
}

TEST(Jpeg, IsNearWhatWasWritten) {
  for (const bool progressive : {false, true}) {
    EXPECT_LE(difference(jpeg(gradient(), {.progressive = progressive}), gradient()), 3);
    const Picture gray = gradient(21, 34, 1);
    EXPECT_LE(difference(jpeg(gray, {.progressive = progressive}), gray), 2);
  }
}

/// Two halves of different colour: the border between them is drawn out, not a step.
TEST(Jpeg, InterpolatesHalvedColours) {
  const Picture p = picture(16, 32, 3, 8, [](int, int x, int c) {
    return x < 16 ? (c == 0 ? 200 : 100) : (c == 2 ? 200 : 100);
  });
  const Decoded d = decode(jpeg(p, {.halved_colours = true}));
  ASSERT_EQ(d.status, TW_OK);
  const auto red = [&](int x) { return int{d.pixels[static_cast<size_t>(3 * (8 * 32 + x))]}; };
  // B0 = A/4 + 3B/4 and B1 = 3B/4 + C/4 on both sides of the border.
  EXPECT_GT(red(13), red(15) + 8);
  EXPECT_GT(red(15), red(16) + 8);
  EXPECT_GT(red(16), red(18) + 8);
}

/// Adobe's, which all are: stored the other way round, 255 is no ink.
TEST(Jpeg, TurnsInkIntoLight) {
  const Picture p = gradient(16, 16, 4);
  EXPECT_LE(difference(jpeg(p), 16, 16,
                       [&](int y, int x) {
                         Color out;
                         for (int c = 0; c < 3; ++c)
                           out.push_back(p.at(y, x, c) * p.at(y, x, 3) / 255);
                         return out;
                       }),
            4);
}

/// The marker that ends a file is missing in some, with all pixels there.
TEST(Jpeg, NeedsNoEndMarker) {
  Bytes file = jpeg(gradient());
  file.resize(file.size() - 2);
  EXPECT_LE(difference(file, gradient()), 3);
  file.resize(file.size() - 40);
  EXPECT_EQ(decode(file).message, "the JPEG ends too early");
  // Of a progressive one a whole scan might be missing.
  Bytes progressive = jpeg(gradient(), {.progressive = true});
  progressive.resize(progressive.size() - 2);
  EXPECT_EQ(decode(progressive).status, TW_BAD_INPUT);
}

TEST(Png, GivesItsSamples) {
  for (const int channels : {1, 2, 3, 4})
    for (const int bits : {8, 16})
      for (const bool interlaced : {false, true}) {
        const Picture p = noise(21, 34, channels, bits);
        EXPECT_EQ(difference(png(p, interlaced), p), 0) << channels << " of " << bits;
      }
}

TEST(Png, SpreadsFewBits) {
  for (const int bits : {1, 2, 4}) {
    const int most = (1 << bits) - 1;
    const Picture p = picture(5, 11, 1, 8, [&](int y, int x, int) { return (3 * y + x) & most; });
    EXPECT_EQ(difference(png_of_bits(p, bits), 5, 11,
                         [&](int y, int x) { return Color(3, p.at(y, x, 0) * 255 / most); }),
              0)
        << bits;
  }
}

TEST(Png, LooksColoursUp) {
  const Bytes palette{10, 20, 30, 250, 0, 5, 1, 2, 3, 99, 98, 97};
  for (const int bits : {2, 4, 8})
    for (const bool transparent : {false, true}) {
      const Picture p = picture(5, 11, 1, 8, [](int y, int x, int) { return (y + x) % 4; });
      EXPECT_EQ(difference(png_of_palette(p, palette, bits, transparent), 5, 11,
                           [&](int y, int x) {
                             const auto* c = &palette[3u * p.at(y, x, 0)];
                             return Color{c[0], c[1], c[2]};
                           }),
                0)
          << bits << transparent;
    }
}

TEST(Tiff, GivesItsSamples) {
  for (const int channels : {1, 2, 3, 4})
    for (const int tile : {0, 16})
      for (const bool planes : {false, true})
        for (const int compression :
             {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_PACKBITS, COMPRESSION_ADOBE_DEFLATE,
              COMPRESSION_LZMA, COMPRESSION_ZSTD}) {
          const Picture p = noise(21, 34, channels);
          const TiffOptions options{
              .compression = compression,
              .photometric = channels < 3 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB,
              .tile = tile,
              .planes = planes,
              .big_endian = channels == 2};
          EXPECT_EQ(difference(tiff({p}, options), p), 0)
              << channels << " tile " << tile << " planes " << planes << " by " << compression;
        }
}

TEST(Tiff, ReadsLargeFilesAndWideSamples) {
  const Picture p = noise();
  EXPECT_EQ(difference(tiff({p}, {.big = true}), p), 0);
  EXPECT_EQ(difference(tiff({p}, {.big_endian = true, .big = true}), p), 0);
  for (const int channels : {1, 3}) {
    const Picture wide = noise(21, 34, channels, 16);
    const TiffOptions options{.photometric =
                                  channels == 1 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB};
    EXPECT_LE(difference(tiff({wide}, options), wide), 1);  // libtiff rounds those of colours
  }
}

TEST(Tiff, KnowsKindsOfColour) {
  const Picture gray = noise(21, 34, 1);
  const auto inverted = [&](int y, int x) { return Color(3, 255 - gray.at(y, x, 0)); };
  EXPECT_EQ(difference(tiff({gray}, {.photometric = PHOTOMETRIC_MINISWHITE}), 21, 34, inverted), 0);

  Bytes palette;
  for (int i = 0; i < 256; ++i)
    palette.insert(palette.end(), {Bytes::value_type(i), Bytes::value_type(255 - i), 40});
  const auto looked_up = [&](int y, int x) {
    return Color{gray.at(y, x, 0), 255 - gray.at(y, x, 0), 40};
  };
  EXPECT_EQ(difference(tiff({gray}, {.photometric = PHOTOMETRIC_PALETTE, .palette = palette}), 21,
                       34, looked_up),
            0);

  const Picture ink = noise(21, 34, 4);
  const auto light = [&](int y, int x) {
    Color out;
    for (int c = 0; c < 3; ++c)
      out.push_back((255 - ink.at(y, x, c)) * (255 - ink.at(y, x, 3)) / 255);
    return out;
  };
  EXPECT_LE(difference(tiff({ink}, {.photometric = PHOTOMETRIC_SEPARATED}), 21, 34, light), 1);

  const Picture dots = picture(9, 35, 1, 8, [](int y, int x, int) { return (y * x) % 3 == 0; });
  const auto black = [&](int y, int x) { return Color(3, dots.at(y, x, 0) != 0 ? 0 : 255); };
  EXPECT_EQ(difference(tiff({dots}, {.compression = COMPRESSION_CCITTFAX4, .photometric = 0}), 9,
                       35, black),
            0);

  EXPECT_LE(difference(tiff({gradient()}, {.compression = COMPRESSION_JPEG}), gradient()), 12);
}

/// The first page, its rows as they are stored.
TEST(Tiff, TakesTheFirstPageAsItLies) {
  const Picture first = noise(), second = gradient(5, 6);
  EXPECT_EQ(difference(tiff({first, second}), first), 0);
  for (const int orientation : {2, 3, 4, 5, 6, 7, 8})
    for (const int tile : {0, 16})
      EXPECT_EQ(difference(tiff({first}, {.tile = tile, .orientation = orientation}), first), 0)
          << orientation;
}

TEST(Tiff, RefusesRareCompressions) {
  const Decoded d = decode(tiff({gradient(21, 34, 1)}, {.compression = COMPRESSION_LERC,
                                                        .photometric = PHOTOMETRIC_MINISBLACK}));
  EXPECT_EQ(d.status, TW_BAD_INPUT);
  EXPECT_EQ(d.message, "the TIFF has compression 34887, which the decoder does not know");
}

TEST(WebP, GivesItsSamples) {
  EXPECT_EQ(difference(webp(noise()), noise()), 0);
  const Picture opaque = picture(21, 34, 4, 8, [](int y, int x, int c) {
    return c == 3 ? 200 : 30 * c + 2 * x + y;  // what is invisible need not be kept
  });
  EXPECT_EQ(difference(webp(opaque), opaque), 0);
  EXPECT_LE(difference(webp(gradient(), false), gradient()), 16);
}

TEST(WebP, ShowsTheFirstFrameOnItsCanvas) {
  const Picture frame = noise(7, 9);
  EXPECT_EQ(difference(webp_animation(frame, 4, 6, 20, 30), 20, 30,
                       [&](int y, int x) {
                         const bool inside = y >= 4 && y < 11 && x >= 6 && x < 15;
                         return inside ? rgb_of(frame, y - 4, x - 6) : Color(3, 0);
                       }),
            0);
}

TEST(Jpeg2000, GivesItsSamples) {
  for (const bool boxes : {false, true})
    for (const int tile : {0, 16})
      for (const int channels : {1, 2, 3, 4}) {
        const Picture p = noise(21, 34, channels);
        const int colours = channels < 3 ? OPJ_CLRSPC_GRAY : OPJ_CLRSPC_SRGB;
        EXPECT_EQ(difference(jpeg2000(p, {.boxes = boxes, .tile = tile, .colours = colours}), p), 0)
            << channels << " boxes " << boxes << " tile " << tile;
      }
}

TEST(Jpeg2000, BringsSamplesToEightBits) {
  const Picture p = noise(21, 34, 1);
  for (const int bits : {12, 16})
    for (const bool is_signed : {false, true})
      EXPECT_EQ(difference(jpeg2000(p, {.is_signed = is_signed, .bits = bits, .colours = 2}), p), 0)
          << bits;
  EXPECT_EQ(difference(jpeg2000(p, {.bits = 4, .colours = 2}), 21, 34,
                       [&](int y, int x) { return Color(3, p.at(y, x, 0) / 16 * 17); }),
            0);
}

/// Full range, as JFIF has it.
Color from_ycc(int y, int b, int r) {
  const auto whole = [](double v) { return static_cast<int>(std::clamp(v + 0.5, 0.0, 255.0)); };
  return {whole(y + 1.402 * (r - 128)), whole(y - 0.344136 * (b - 128) - 0.714136 * (r - 128)),
          whole(y + 1.772 * (b - 128))};
}

TEST(Jpeg2000, TurnsLightAndInkIntoColours) {
  const Picture p = gradient();
  const auto colour = [&](int y, int x) {
    return from_ycc(p.at(y, x, 0), p.at(y, x, 1), p.at(y, x, 2));
  };
  EXPECT_LE(difference(jpeg2000(p, {.colours = OPJ_CLRSPC_SYCC}), 21, 34, colour), 1);
  // Without a name for the colours, halved ones are no RGB.
  const auto halved = [&](int y, int x) {
    return from_ycc(p.at(y, x, 0), p.at(y / 2 * 2, x / 2 * 2, 1), p.at(y / 2 * 2, x / 2 * 2, 2));
  };
  const Jpeg2000Options options{.boxes = false, .halved_colours = true};
  EXPECT_LE(difference(jpeg2000(p, options), 21, 34, halved), 1);

  const Picture ink = noise(21, 34, 4);
  const auto light = [&](int y, int x) {
    Color out;
    for (int c = 0; c < 3; ++c)
      out.push_back((255 - ink.at(y, x, c)) * (255 - ink.at(y, x, 3)) / 255);
    return out;
  };
  Bytes file = jpeg2000(ink);
  const char colours[] = {'c', 'o', 'l', 'r', 1, 0, 0, 0, 0, 0, 16};  // enumerated: sRGB
  const auto at = std::search(file.begin(), file.end(), std::begin(colours), std::end(colours));
  ASSERT_NE(at, file.end());
  at[10] = 12;  // CMYK, which OpenJPEG does not write
  EXPECT_LE(difference(file, 21, 34, light), 1);
}

}  // namespace
}  // namespace tilewright::images
