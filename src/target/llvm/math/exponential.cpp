// SPDX-License-Identifier: Apache-2.0
// exp and what follows from it. x = n ln2 + r with |r| <= ln2 / 2; e^r = 1 + r + r² q(r); then the
// exponent n is put in place.
#include <vector>

#include "llvm/IR/IntrinsicsX86.h"

#include "support/function_ref.h"
#include "target/llvm/math/functions.h"

namespace tilewright::target::llvm {
namespace {

// ln2 = high + low
constexpr double kLn2High32 = 0x1.62e430p-1, kLn2Low32 = -0x1.05c610p-29;
constexpr double kLn2High64 = 0x1.62e42fefa39efp-1, kLn2Low64 = 0x1.abc9e3b39803fp-56;
constexpr double kLog2E = 0x1.71547652b82fep+0;

/// Adding 1.5 * 2^mantissa rounds to an integer, which then stands in the low bits.
double magic(Num x) { return x.wide() ? 0x1.8p52 : 0x1.8p23; }

/// (e^r - 1 - r) / r², |r| <= ln2 / 2: errors of r² q against e^r below 2^-28 and 2^-59
Num q_of(Num r) {
  if (r.wide())
    return poly(r, {0x1p-1, 0x1.5555555555559p-3, 0x1.555555555553fp-5, 0x1.111111110f6dap-7,
                    0x1.6c16c16c1f075p-10, 0x1.a01a01afd3e6dp-13, 0x1.a01a017bc79d1p-16,
                    0x1.71ddf87eaae80p-19, 0x1.27e53629ca9c2p-22, 0x1.af5e752104134p-26,
                    0x1.1ee88b597a698p-29});
  return poly(r, {0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558f2p-5, 0x1.1239e2p-7, 0x1.6a2432p-10});
}

int bias(Num x) { return x.wide() ? 1023 : 127; }

/// An integer n as n + magic + 2 bias: its low bits are n + 2 bias.
struct Integer {
  Num sum;
  static double offset(Num x) { return magic(x) + 2 * bias(x); }
  Num value() const { return sum - offset(sum); }
};

/// x = n ln2 + r
struct Reduced {
  Integer n;
  Num r;
};
Reduced reduce(Num x) {
  const bool wide = x.wide();
  const Integer integer{fma(x, kLog2E, Integer::offset(x))};
  const Num n = integer.value();
  return {integer,
          fma(n, wide ? -kLn2Low64 : -kLn2Low32, fma(n, wide ? -kLn2High64 : -kLn2High32, x))};
}

/// The float of these exponent bits, of which the low ones alone count.
Num of_exponent(Num like, Int bits) {
  return like.from_bits(bits << (like.wide() ? uint64_t{52} : uint64_t{23}));
}

/// 2^n for n within the exponents of normal numbers.
Num power_of_two(Num n) { return of_exponent(n, (n + (magic(n) + bias(n))).bits()); }

/// An instruction that comes in vectors of 512 bits only, on lanes of any number.
Num on_512(Num x, Num y, FunctionRef<ll::Value*(ll::Value*, ll::Value*)> instruction) {
  Lanes& b = *x.b;
  const int lanes = Lanes::lanes_of(x.v), chunk = x.wide() ? 8 : 16;
  if (lanes == chunk) return {&b, instruction(x.v, y.v)};
  ll::Type* type = b.with_lanes(x.v->getType()->getScalarType(), chunk);
  const auto part = [&](ll::Value* v, int first) -> ll::Value* {
    if (lanes == 1) return b.CreateInsertElement(ll::PoisonValue::get(type), v, uint64_t{0});
    std::vector<int> order;
    for (int i = 0; i < chunk; ++i) order.push_back(first + i < lanes ? first + i : -1);
    return b.CreateShuffleVector(v, order);
  };
  std::vector<ll::Value*> parts;
  for (int first = 0; first < lanes; first += chunk)
    parts.push_back(instruction(part(x.v, first), part(y.v, first)));
  if (lanes == 1) return {&b, b.CreateExtractElement(parts[0], uint64_t{0})};
  // Joined pairwise, then cut to size.
  while (parts.size() > 1) {
    std::vector<ll::Value*> joined;
    for (size_t i = 0; i < parts.size(); i += 2) {
      const int each = Lanes::lanes_of(parts[i]);
      std::vector<int> order;
      for (int k = 0; k < 2 * each; ++k) order.push_back(k);
      ll::Value* second =
          i + 1 < parts.size() ? parts[i + 1] : ll::PoisonValue::get(parts[i]->getType());
      joined.push_back(b.CreateShuffleVector(parts[i], second, order));
    }
    parts = std::move(joined);
  }
  if (Lanes::lanes_of(parts[0]) == lanes) return {&b, parts[0]};
  std::vector<int> order;
  for (int k = 0; k < lanes; ++k) order.push_back(k);
  return {&b, b.CreateShuffleVector(parts[0], order)};
}

ll::Value* all_lanes(Num x) {
  const unsigned lanes = x.wide() ? 8 : 16;
  return x.b->getIntN(lanes, (1u << lanes) - 1);
}

/// vscalef takes any n and rounds once, subnormal results too.
Num scalef(Num y, Num n) {
  return on_512(y, n, [&](ll::Value* p, ll::Value* q) {
    return y.b->CreateIntrinsic(
        y.wide() ? ll::Intrinsic::x86_avx512_mask_scalef_pd_512
                 : ll::Intrinsic::x86_avx512_mask_scalef_ps_512,
        {}, {p, q, ll::PoisonValue::get(p->getType()), all_lanes(y), y.b->getInt32(4)});
  });
}

/// The nearer to zero of x and ±bound, by vrange; a number also where x is NaN.
Num within(Num x, double bound) {
  constexpr uint32_t kSmallerWithSignOfFirst = 2;
  return on_512(x, x.of(bound), [&](ll::Value* p, ll::Value* q) {
    return x.b->CreateIntrinsic(
        x.wide() ? ll::Intrinsic::x86_avx512_mask_range_pd_512
                 : ll::Intrinsic::x86_avx512_mask_range_ps_512,
        {},
        {p, q, x.b->getInt32(kSmallerWithSignOfFirst), ll::PoisonValue::get(p->getType()),
         all_lanes(x), x.b->getInt32(4)});
  });
}

/// y 2^n in two steps, since 2^n alone may be out of range; only the second can round. Each half of
/// n + 2 bias is an exponent with its bias.
Num scale(Num y, Integer n) {
  if (y.b->spec.isa.has(ir::Isa::Avx512)) return scalef(y, n.value());
  const Int all = n.sum.bits(), half = halved(all);
  return y * of_exponent(y, half) * of_exponent(y, all - half);
}

}  // namespace

Num scale(Num y, Num n) {
  if (y.b->spec.isa.has(ir::Isa::Avx512)) return scalef(y, n);
  return scale(y, Integer{n + Integer::offset(n)});
}

Num exp_of(Num x) {
  const auto of_reduced = [](Num r) { return fma(r, fma(r, q_of(r), 1.0), 1.0); };
  if (x.b->spec.isa.has(ir::Isa::Avx512)) {
    // vscalef makes 0, infinity or NaN of any n beyond the range, however wrong r is there.
    const auto [n, r] = reduce(x);
    return scale(of_reduced(within(r, 0.5)), n);
  }
  const auto [n, r] = reduce(x.wide() ? clamp(x, -746, 710) : clamp(x, -104, 89));
  return scale(of_reduced(r), n);
}

Num exp2_of(Num x) {
  x = x.wide() ? clamp(x, -1076, 1025) : clamp(x, -151, 129);
  const Integer n{x + Integer::offset(x)};
  const Num t = x - n.value();
  if (!x.wide()) {
    // (2^t - 1) / t
    const Num q = poly(t, {0x1.62e430p-1, 0x1.ebfbdcp-3, 0x1.c6aee8p-5, 0x1.3b2d4ep-7,
                           0x1.5f3e80p-10, 0x1.41fba0p-13});
    return scale(fma(t, q, 1.0), n);
  }
  return exp2_of_sum(x, x.of(0));
}

Num exp2_of_sum(Num high, Num low) {
  const Num n = high + magic(high) - magic(high);
  const Num t = (high - n) + low;
  // r + tail = t ln2
  const Num r = t * kLn2High64;
  const Num tail = fma(t, kLn2Low64, fma(t, kLn2High64, -r));
  return scale(fma(r * r, q_of(r), tail) + r + 1.0, n);
}

Num expm1_of(Num x) {
  const auto [n, r] = reduce(x.wide() ? clamp(x, -60, 710) : clamp(x, -30, 89));
  // 2^n (e^r - 1) + (2^n - 1), at half size so that 2^n stays in range
  const Num s = power_of_two(n.value() - 1.0);
  return copysign(fma(s, fma(r * r, q_of(r), r), s - 0.5) * 2.0, x);
}

Num tanh_of(Num x) {
  const Num a = abs(x);
  if (x.wide()) {
    const Num e = expm1_of(clamp(a * 2.0, 0, 44));
    return copysign(e / (e + 2.0), x);
  }
  // (tanh(x) - x) / x³ as a polynomial of x², up to 0.625
  const Num z = a * a;
  const Num p =
      poly(z, {-0x1.555532p-2, 0x1.110726p-3, -0x1.b83c5ap-5, 0x1.52269cp-6, -0x1.75e1cep-8});
  const Num small = fma(a * z, p, a);
  const Num large = 1.0 - 2.0 / (exp_of(a * 2.0) + 1.0);
  return copysign(select(a < 0.625, small, large), x);
}

Num sinh_of(Num x) {
  const Num a = abs(x);
  const Num e = expm1_of(a);
  const Num near = (e + e / (e + 1.0)) * 0.5;
  const Num root = exp_of(a * 0.5);  // its square does not overflow before the result does
  return copysign(select(a > 700.0, root * 0.5 * root, near), x);
}

Num cosh_of(Num x) {
  const Num a = abs(x);
  const Num e = exp_of(a);
  const Num root = exp_of(a * 0.5);
  return select(a > 700.0, root * 0.5 * root, (e + 1.0 / e) * 0.5);
}

}  // namespace tilewright::target::llvm
