// SPDX-License-Identifier: Apache-2.0
// sin, cos and tan from their polynomials on ±π/4 and the quadrant.
#include "target/llvm/math/reduce_angle.h"

namespace tilewright::target::llvm {
namespace {

struct SinCos {
  Num sin, cos;
};

SinCos sin_cos(const Angle& angle, Accuracy accuracy) {
  const Num r = angle.r, t = angle.tail;
  const Num z = r * r;
  if (accuracy == Accuracy::F32) {
    const Num s = poly(z, {-0x1.5555554cb2055p-3, 0x1.1111089078c09p-7, -0x1.a00f98e6ae686p-13,
                           0x1.6cd73347aa8fap-19});
    const Num c = poly(z, {0x1.5555554f48befp-5, -0x1.6c16b892b9431p-10, 0x1.a0111c158c5aep-16,
                           -0x1.2429fbe0deae7p-22});
    return {fma(r * z, s, r), fma(z * z, c, fma(z, -0.5, 1.0))};
  }
  const Num s = poly(z, {-0x1.5555555555549p-3, 0x1.111111110f861p-7, -0x1.a01a019c0e4c8p-13,
                         0x1.71de3574ba1f9p-19, -0x1.ae5e63cd0c799p-26, 0x1.5d92469c1be1ap-33});
  const Num c = poly(z, {0x1.555555555554cp-5, -0x1.6c16c16c15162p-10, 0x1.a01a019caef38p-16,
                         -0x1.27e4f807d631bp-22, 0x1.1ee9ea6ccb63fp-29, -0x1.8fadd074bb9d1p-37});
  // sin(r + t) = sin r + t cos r; cos(r + t) = cos r - t r. 1 - z/2 keeps what it loses.
  const Num half = z * 0.5;
  const Num one = 1.0 - half;
  const Num sin = r + fma(r * z, s, t * one);
  const Num cos = one + (((1.0 - one) - half) + fma(z * z, c, -(r * t)));
  return {sin, cos};
}

/// sin of an angle whose quadrant has been moved by `quadrants`; infinities have none.
Num sin_moved(Num x, Accuracy accuracy, uint64_t quadrants) {
  const Angle angle = reduce_angle(x, accuracy);
  const SinCos both = sin_cos(angle, accuracy);
  const Int q = angle.quadrant + quadrants;
  const Num value = select(nonzero(q & 1), both.cos, both.sin);
  const Num result = value.from_bits(value.bits() ^ ((q & 2) << 62));
  return select(abs(x) < x.inf(), result, x.nan());
}

}  // namespace

Num sin_of(Num x, Accuracy accuracy) { return select(x == 0.0, x, sin_moved(x, accuracy, 0)); }

Num cos_of(Num x, Accuracy accuracy) { return sin_moved(x, accuracy, 1); }

Num tan_of(Num x, Accuracy accuracy) {
  const Angle angle = reduce_angle(x, accuracy);
  const SinCos both = sin_cos(angle, accuracy);
  const Mask turned = nonzero(angle.quadrant & 1);
  const Num result = select(turned, -both.cos, both.sin) / select(turned, both.sin, both.cos);
  return select(x == 0.0, x, select(abs(x) < x.inf(), result, x.nan()));
}

}  // namespace tilewright::target::llvm
