// SPDX-License-Identifier: Apache-2.0
#include "turn.h"

#include <string>

namespace bench {

using namespace tilewright;
using schedule::kOpen;
using schedule::LoopRef;

namespace {

/// Pieces of `extent` elements, each a number of vectors of some lanes: whole ones first, then the
/// powers of two that are left, so that none needs a mask. 60 with 16 lanes: 48 by 16, 8 by 8, 4 by
/// 4.
struct Piece {
  int64_t begin, lanes;
};
std::vector<Piece> pieces_of(int64_t extent, int64_t lanes) {
  std::vector<Piece> out;
  for (int64_t at = 0; at < extent; lanes /= 2) {
    if (extent - at < lanes) continue;
    out.push_back({at, lanes});
    at += (extent - at) / lanes * lanes;
  }
  return out;
}

}  // namespace

void schedule_turn(schedule::Schedule& s, const schedule::BlockRef& out, int64_t pixels,
                   int64_t lanes) {
  const std::vector<LoopRef> l = s.loops(out);  // …, ob, o, p
  const size_t n = l.size();
  s.reorder({l[n - 1], l[n - 3], l[n - 2]});
  const std::vector<Piece> pieces = pieces_of(pixels, lanes);
  std::vector<schedule::Number> points;
  for (size_t i = 1; i < pieces.size(); ++i) points.push_back(pieces[i].begin);
  if (!points.empty()) s.partition(l[n - 1], points);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::vector<LoopRef> own =
        s.loops(i == 0 ? out.name : out.name + "_part" + std::to_string(i));  // …, p, ob, o
    const LoopRef &ob = own[own.size() - 2], &o = own.back();
    const auto [p0, p1] = s.split<2>(own[own.size() - 3], {kOpen, pieces[i].lanes});
    s.reorder({p0, ob, o, p1});
    s.unroll(o);
    s.vectorize(p1);
  }
}

}  // namespace bench
