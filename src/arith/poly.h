// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "arith/interval.h"

namespace tilewright::arith {

/// A value that a polynomial cannot look into, by its place in a table of atoms; 0 is none.
using Atom = uint16_t;

/// A product of up to four atoms, in ascending order, one in each 16 bits; 0 is the empty product.
struct Mono {
  uint64_t packed = 0;

  static constexpr int kMaxDegree = 4;
  static Mono of(Atom a) { return {a}; }
  Atom atom(int i) const { return static_cast<Atom>(packed >> (16 * i)); }
  int degree() const;
  bool is_atom() const { return packed != 0 && packed < (uint64_t{1} << 16); }
  bool has(Atom a) const;
  friend auto operator<=>(const Mono&, const Mono&) = default;
};
/// False when the degree grows too large.
bool multiply(Mono a, Mono b, Mono* out);
/// a / b, where b's atoms are all in a.
bool divide(Mono a, Mono b, Mono* out);

/// constant + Σ coefficient · monomial over the mathematical integers. Terms are sorted by monomial
/// and have no zero coefficient. `ok` turns false, and stays so, when a number or degree does not
/// fit.
struct Poly {
  struct Term {
    Mono mono;
    int64_t coefficient = 0;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;
  int64_t constant = 0;
  bool ok = true;

  template <std::signed_integral T>  // an atom is no number
  static Poly of(T constant) {
    return {{}, constant, true};
  }
  static Poly atom(Atom a) { return {{{Mono::of(a), 1}}, 0, true}; }
  static Poly failed() { return {{}, 0, false}; }

  bool is_constant() const { return ok && terms.empty(); }
  bool is_zero() const { return is_constant() && constant == 0; }
  int64_t coefficient(Mono m) const;
  friend bool operator==(const Poly&, const Poly&) = default;
};

Poly operator+(const Poly& a, const Poly& b);
Poly operator-(const Poly& a, const Poly& b);
Poly operator*(const Poly& a, const Poly& b);
Poly operator*(const Poly& a, int64_t k);
/// a + k·m·b: one step of an elimination.
Poly add_scaled(const Poly& a, int64_t k, Mono m, const Poly& b);
/// The greatest common divisor of the coefficients without the constant; 0 for a constant.
int64_t content(const Poly& p);
/// p divided by k, a divisor of every coefficient; the constant is rounded down.
Poly divide_down(const Poly& p, int64_t k);
size_t hash(const Poly& p);

}  // namespace tilewright::arith
