// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <openjpeg.h>

#include "images/samples.h"

namespace tilewright::images {
namespace {

struct OutFile {
  Bytes bytes;
  size_t at = 0;
};

OPJ_SIZE_T write(void* from, OPJ_SIZE_T count, void* user) {
  auto& f = *static_cast<OutFile*>(user);
  f.bytes.resize(std::max(f.bytes.size(), f.at + count));
  std::memcpy(f.bytes.data() + f.at, from, count);
  f.at += count;
  return count;
}

OPJ_OFF_T skip(OPJ_OFF_T count, void* user) {
  auto& f = *static_cast<OutFile*>(user);
  f.at += static_cast<size_t>(count);
  f.bytes.resize(std::max(f.bytes.size(), f.at));
  return count;
}

OPJ_BOOL seek(OPJ_OFF_T to, void* user) {
  static_cast<OutFile*>(user)->at = static_cast<size_t>(to);
  return OPJ_TRUE;
}

opj_image_t* image_of(const Picture& p, const Jpeg2000Options& o) {
  std::vector<opj_image_cmptparm_t> parts;
  for (int c = 0; c < p.channels; ++c) {
    const uint32_t step = o.halved_colours && c > 0 ? 2 : 1;
    parts.push_back({.dx = step,
                     .dy = step,
                     .w = (static_cast<uint32_t>(p.width) + step - 1) / step,
                     .h = (static_cast<uint32_t>(p.height) + step - 1) / step,
                     .x0 = 0,
                     .y0 = 0,
                     .prec = static_cast<uint32_t>(o.bits),
                     .bpp = static_cast<uint32_t>(o.bits),
                     .sgnd = o.is_signed ? 1u : 0u});
  }
  opj_image_t* image = opj_image_create(static_cast<uint32_t>(p.channels), parts.data(),
                                        static_cast<OPJ_COLOR_SPACE>(o.colours));
  image->x1 = static_cast<uint32_t>(p.width);
  image->y1 = static_cast<uint32_t>(p.height);
  for (int c = 0; c < p.channels; ++c) {
    const opj_image_comp_t& part = image->comps[c];
    const int step = static_cast<int>(part.dx);
    for (int y = 0; y < static_cast<int>(part.h); ++y)
      for (int x = 0; x < static_cast<int>(part.w); ++x) {
        int v = p.at(y * step, x * step, c);
        v = o.bits >= 8 ? v << (o.bits - 8) : v >> (8 - o.bits);
        part.data[y * static_cast<int>(part.w) + x] = o.is_signed ? v - (1 << (o.bits - 1)) : v;
      }
  }
  return image;
}

}  // namespace

Bytes jpeg2000(const Picture& p, const Jpeg2000Options& o) {
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1;
  parameters.numresolution = 3;
  parameters.tcp_mct = p.channels == 3 && !o.halved_colours ? 1 : 0;
  if (o.tile != 0) {
    parameters.tile_size_on = OPJ_TRUE;
    parameters.cp_tdx = parameters.cp_tdy = o.tile;
  }
  OutFile file;
  opj_image_t* image = image_of(p, o);
  opj_codec_t* codec = opj_create_compress(o.boxes ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K);
  opj_setup_encoder(codec, &parameters, image);
  opj_stream_t* stream = opj_stream_create(1 << 16, OPJ_FALSE);
  opj_stream_set_user_data(stream, &file, nullptr);
  opj_stream_set_write_function(stream, write);
  opj_stream_set_skip_function(stream, skip);
  opj_stream_set_seek_function(stream, seek);
  const bool done = opj_start_compress(codec, image, stream) && opj_encode(codec, stream) &&
                    opj_end_compress(codec, stream);
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  return done ? file.bytes : Bytes();
}

}  // namespace tilewright::images
