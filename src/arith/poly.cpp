// SPDX-License-Identifier: Apache-2.0
#include "arith/poly.h"

#include <algorithm>
#include <numeric>

namespace tilewright::arith {
namespace {

int64_t plus(int64_t a, int64_t b, bool* ok) {
  int64_t out;
  if (__builtin_add_overflow(a, b, &out)) *ok = false;
  return out;
}

int64_t times(int64_t a, int64_t b, bool* ok) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) *ok = false;
  return out;
}

uint64_t magnitude(int64_t v) {
  return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
}

/// a + k·b, both sorted.
Poly merge(const Poly& a, int64_t k, const Poly& b) {
  Poly out;
  out.ok = a.ok && b.ok;
  out.terms.reserve(a.terms.size() + b.terms.size());
  out.constant = plus(a.constant, times(b.constant, k, &out.ok), &out.ok);
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    if (y == b.terms.end() || (x != a.terms.end() && x->mono < y->mono)) {
      out.terms.push_back(*x++);
    } else {
      int64_t c = times(y->coefficient, k, &out.ok);
      if (x != a.terms.end() && x->mono == y->mono) c = plus(c, (x++)->coefficient, &out.ok);
      if (c != 0) out.terms.push_back({y->mono, c});
      ++y;
    }
  }
  return out.ok ? out : Poly::failed();
}

Poly shifted(const Poly& p, Mono m) {
  Poly out;
  out.ok = p.ok;
  for (const Poly::Term& t : p.terms) {
    Mono product;
    if (!multiply(t.mono, m, &product)) return Poly::failed();
    out.terms.push_back({product, t.coefficient});
  }
  if (p.constant != 0) out.terms.push_back({m, p.constant});
  std::sort(out.terms.begin(), out.terms.end(),
            [](const auto& a, const auto& b) { return a.mono < b.mono; });
  return out;
}

}  // namespace

int Mono::degree() const {
  int n = 0;
  while (n < kMaxDegree && atom(n) != 0) ++n;
  return n;
}

bool Mono::has(Atom a) const {
  for (int i = 0; i < kMaxDegree; ++i)
    if (atom(i) == a) return true;
  return false;
}

bool multiply(Mono a, Mono b, Mono* out) {
  const int n = a.degree(), m = b.degree();
  if (n + m > Mono::kMaxDegree) return false;
  uint64_t packed = 0;
  for (int i = 0, j = 0; i + j < n + m;) {
    const bool from_a = j == m || (i < n && a.atom(i) <= b.atom(j));
    const Atom next = from_a ? a.atom(i) : b.atom(j);
    packed |= static_cast<uint64_t>(next) << (16 * (i + j));
    ++(from_a ? i : j);
  }
  out->packed = packed;
  return true;
}

bool divide(Mono a, Mono b, Mono* out) {
  const int n = a.degree(), m = b.degree();
  uint64_t packed = 0;
  int kept = 0, matched = 0;
  for (int i = 0; i < n; ++i) {
    if (matched < m && a.atom(i) == b.atom(matched))
      ++matched;
    else
      packed |= static_cast<uint64_t>(a.atom(i)) << (16 * kept++);
  }
  out->packed = packed;
  return matched == m;
}

int64_t Poly::coefficient(Mono m) const {
  for (const Term& t : terms)
    if (t.mono == m) return t.coefficient;
  return 0;
}

Poly operator+(const Poly& a, const Poly& b) { return merge(a, 1, b); }
Poly operator-(const Poly& a, const Poly& b) { return merge(a, -1, b); }

Poly operator*(const Poly& a, int64_t k) {
  if (k == 0) return a.ok ? Poly() : a;
  return merge(Poly(), k, a);
}

Poly operator*(const Poly& a, const Poly& b) {
  if (b.is_constant()) return a * b.constant;
  Poly out = b * a.constant;
  for (const Poly::Term& t : a.terms) out = add_scaled(out, t.coefficient, t.mono, b);
  return a.ok ? out : Poly::failed();
}

Poly add_scaled(const Poly& a, int64_t k, Mono m, const Poly& b) {
  return m.packed == 0 ? merge(a, k, b) : merge(a, k, shifted(b, m));
}

int64_t content(const Poly& p) {
  uint64_t g = 0;
  for (const Poly::Term& t : p.terms) g = std::gcd(g, magnitude(t.coefficient));
  return g > static_cast<uint64_t>(Interval::kMax) ? 1 : static_cast<int64_t>(g);
}

Poly divide_down(const Poly& p, int64_t k) {
  Poly out = p;
  for (Poly::Term& t : out.terms) t.coefficient /= k;
  out.constant = floor_div(p.constant, k);
  return out;
}

size_t hash(const Poly& p) {
  uint64_t h = static_cast<uint64_t>(p.constant) * 0x9E3779B97F4A7C15u;
  const auto mix = [&](uint64_t v) { h = (h ^ (h >> 29) ^ v) * 0xBF58476D1CE4E5B9u; };
  for (const Poly::Term& t : p.terms) {
    mix(t.mono.packed);
    mix(static_cast<uint64_t>(t.coefficient));
  }
  return h;
}

}  // namespace tilewright::arith
