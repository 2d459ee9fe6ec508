// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arith/interval.h"
#include "arith/poly.h"
#include "ir/buffer.h"
#include "ir/expr.h"

namespace tilewright::arith {

/// x ≡ remainder (mod modulus), 0 <= remainder < modulus. Modulus 0 means x == remainder, modulus 1
/// says nothing.
struct Residue {
  int64_t modulus = 1;
  int64_t remainder = 0;
  friend bool operator==(const Residue&, const Residue&) = default;
};

/// Bounds of a polynomial, which may lie outside of 64 bits.
struct WideInterval {
  Wide lo, hi;
};

enum class AtomKind : uint8_t {
  Var,
  Div,     // a / b, b >= 1 by the facts at its birth
  Mod,     // a % b, likewise
  Min,     // min(a, b)
  Max,     // max(a, b)
  Select,  // cond ? a : b
  Guard,   // likewise; kept apart because it evaluates one side only
  Opaque,  // loads, calls, products that may wrap: only `expr` is known
};

/// Values as polynomials over atoms, the facts about them, and what follows. `value(e)` is exact:
/// it looks into a sum or product only where no value that the facts allow makes it wrap. Answers
/// are cached until the facts change, so a solver serves one thread.
class Solver {
 public:
  /// The value of an integer scalar expression (not u64).
  const Poly& value(const ir::Expr& e);
  /// The same as one would write it: defined variables stay, and so do products of sums.
  Poly form(const ir::Expr& e);
  /// Equals an integer expression modulo 2^bits, also where it wraps; variables as written.
  Poly wrapping_form(const ir::Expr& e);
  /// What to write for an expression: its form, or where that wraps its wrapping form.
  Poly written_form(const ir::Expr& e);
  /// Can `value` look into expressions of this type?
  static bool is_linear(ir::Type type);
  /// Does the wrapping evaluation of `e` give the mathematical value of its sums and products?
  bool is_exact(const ir::Expr& e);
  /// Can the sum be computed in the type without a wrap?
  bool fits(const Poly& p, ir::Elem elem);
  /// The sum as one writes it, outer variables first.
  ir::Expr to_expr(const Poly& p) const;
  /// Grows with every change of the facts.
  uint64_t version() const { return version_; }

  WideInterval range(const Poly& p);
  Residue residue(const Poly& p);
  Interval atom_range(Atom a);

  /// a / b, a % b, min, max of exact values; these look for simpler forms by ranges and residues.
  Poly divide(const Poly& a, const Poly& b);
  Poly modulo(const Poly& a, const Poly& b);
  Poly extreme(AtomKind min_or_max, const Poly& a, const Poly& b);
  Poly choose(const ir::Expr& cond, const Poly& yes, const Poly& no);
  /// The polynomial with defined variables replaced by what they are.
  Poly expanded(const Poly& p) const;

  /// Proves p >= 0. The effort counts the steps of the search.
  bool prove_nonneg(const Poly& p, int effort);
  bool prove_positive(const Poly& p, int effort) { return prove_nonneg(p - Poly::of(1), effort); }
  bool prove_zero(const Poly& p, int effort);
  bool prove_nonzero(const Poly& p, int effort);
  /// Proves a bool scalar expression.
  bool prove(const ir::Expr& condition, int effort);

  void bind(const ir::Var& var, const Interval& range, const Residue& residue);
  void bind(const ir::Var& var, const ir::Expr& min, const ir::Expr& extent);
  void define(const ir::Var& var, const ir::Expr& value);
  /// The variable is not replaced by a constant, even where it has one value only.
  void keep(const ir::Var& var);
  /// Does the sum mention a kept variable?
  bool mentions_kept(const Poly& p) const;
  void assume(const ir::Expr& condition);
  /// p >= 0
  void assume_nonneg(const Poly& p);
  /// A buffer's size is limited (ir/README.md §2), and with it the products of its extents.
  void assume_size(const ir::BufferNode& buffer);
  /// The truth of a condition that was assumed as it stands.
  std::optional<bool> known(const ir::Expr& condition) const;

  /// The variables in a value.
  std::vector<ir::Var> variables(const Poly& p) const;
  /// Constant bounds, also from what relates the variables: n - i >= 1 when i < n.
  Interval bounds(const Poly& p);
  /// Symbolic bounds of a value free of the atoms of `vars`, `hi` or `lo`; nothing where none is
  /// known.
  std::optional<Poly> eliminate(const Poly& p, const std::vector<ir::Var>& vars, bool upper);

  /// Facts given after `mark` are forgotten by `rewind`.
  struct Mark {
    size_t atoms, constraints, known, undo;
  };
  Mark mark() const;
  void rewind(const Mark& mark);
  /// Forgets answers when there are very many.
  void trim();

 private:
  struct AtomInfo {
    AtomKind kind = AtomKind::Opaque;
    ir::Expr expr;
    Poly a, b;
    ir::Expr cond;  // Select
    size_t key = 0;
    Atom age = 0;  // of the youngest variable in it
    // Facts.
    Interval assumed;
    Residue assumed_residue;
    std::optional<Poly> definition;     // Var
    bool kept = false;                  // is or has a kept variable
    std::vector<uint32_t> constraints;  // those that mention it
    // Answers, valid for one version of the facts.
    uint64_t version = 0;
    Interval range;
    Residue residue;
  };
  struct Undo {
    Atom atom;
    Interval assumed;
    Residue assumed_residue;
    std::optional<Poly> definition;
    bool kept;
  };
  friend class Search;
  friend class Eliminator;

  bool prove_by_cases(const Poly& p, int effort, int cases);
  static Poly substituted(const Poly& p, Atom atom, const Poly& by);
  Atom intern(AtomInfo info);
  Atom age(const Poly& p) const;
  Atom var_atom(const ir::Var& var);
  Poly opaque(const ir::Expr& e);
  Poly ring(const ir::Expr& e);
  Poly leaf(const ir::Expr& e);
  bool lone_wrapping_sum(const Poly& p) const;
  bool distributes(const Poly& p) const;
  bool leaves_known_remainder(const Poly& x, const Poly& d);
  Poly zero_or_one(const ir::Expr& cast, const ir::Expr& cond);
  Poly absolute(const Poly& a);
  Poly guard(const ir::Guard& e);
  Poly absorbed(const Poly& p);
  Poly paired(const Poly& p);
  void refresh(Atom a);
  Interval compute_range(const AtomInfo& info);
  Interval opaque_range(const ir::Expr& e);
  Residue compute_residue(const AtomInfo& info);
  WideInterval range(Mono m);
  Residue residue(Mono m);
  /// p = divisor·quotient + rest
  struct Parts {
    Poly quotient, rest;
  };
  Parts split(const Poly& p, int64_t d);
  Parts split(const Poly& p, const Poly& b);
  struct Coarse {
    int64_t unit;
    Poly multiple, small;
  };
  std::optional<Coarse> coarsen(const Poly& p, int64_t d);
  Poly divide_atoms(const Poly& m, int64_t k);
  Poly quotient_atom(AtomKind kind, const Poly& a, const Poly& b);

  void save(Atom a);
  bool narrow_atom(Atom a, const Interval& range);
  void narrow_residue(Atom a, const Residue& residue);
  void propagate(uint32_t constraint, std::vector<Atom>* changed);
  void assume_parts(const Poly& p);
  void assume_compare(const ir::Binary& e);
  void assume_zero(const Poly& p);
  void changed();

  std::vector<AtomInfo> atoms_{AtomInfo{}};  // atom 0 is none
  std::unordered_multimap<size_t, Atom> by_key_;
  std::vector<Poly> constraints_;
  std::vector<std::pair<ir::Expr, bool>> known_;
  std::vector<Undo> undo_;
  /// The answers of one way to read variables, while the facts stay.
  struct Memo {
    std::unordered_map<ir::Expr, Poly> values, rings;
    Memo() = default;
    Memo(const Memo&) {}  // a copy of the facts finds its own answers, so that copying is cheap
  };
  Memo& memo() { return memos_[expand_]; }
  Memo memos_[2];
  bool expand_ = true;  // look through definitions and products; else keep what reads well
  int definitions_ = 0;
  uint64_t version_ = 1;
  size_t atoms_of_facts_ = 1;  // those that facts may mention
};

/// gcd that takes 0 as "every multiple".
int64_t gcd(int64_t a, int64_t b);
/// !condition without a `!` at the top; null where there is no such form.
ir::Expr negated(const ir::Expr& condition);

}  // namespace tilewright::arith
