// SPDX-License-Identifier: Apache-2.0
#include "ir/check/check.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "ir/interpret/machine.h"
#include "ir/rewrite.h"
#include "ir/verify_rules.h"
#include "support/str.h"

namespace tilewright::ir {
namespace {

using Sizes = std::vector<int64_t>;
using Items = std::map<const ChannelNode*, int64_t>;

constexpr int64_t kMostElements = int64_t{1} << 22;  // of all parameters together
constexpr int64_t kMostSteps = 50'000'000;
constexpr int64_t kMostValues = 4096;  // of one symbol, counted in divisors
constexpr uint64_t kOrders = 8;        // in which a program ordered by data is run

std::string_view check_code(std::string_view code) {
  if (code == "ir.run.race") return "ir.check.race";
  if (code == "ir.run.deadlock") return "ir.check.deadlock";
  if (code == "ir.run.channel") return "ir.check.channel";
  if (code == "ir.run.barrier") return "ir.check.barrier";
  if (code == "ir.run.lane") return "ir.check.lane";
  return code;
}

/// Does the order of memory accesses depend on values in memory?
bool ordered_by_data(const LoopFunc& f) {
  bool found = false;
  walk(f.body, [&](const Atomic& a) {
    found = found || a.order != MemoryOrder::Relaxed || static_cast<bool>(a.old);
  });
  return found;
}

class Checker {
 public:
  explicit Checker(const LoopFunc& f) : f_(f), by_data_(ordered_by_data(f)) {}

  CheckReport check(const std::vector<Sizes>& sizes) {
    if (!sizes.empty()) {
      for (const Sizes& s : sizes) run(s);
    } else if (f_.symbols.empty()) {
      run({});
    } else {
      const Sizes base = base_sizes();
      run(base);
      for (size_t i = 0; i < f_.symbols.size(); ++i) vary(base, i);
    }
    return report();
  }

 private:
  /// The j-th value that a symbol may have.
  static int64_t value(const Symbol& s, int64_t j) {
    const int64_t divisor = std::max<int64_t>(s.divisor, 1);
    const int64_t first = s.min <= 0 ? 0 : (s.min + divisor - 1) / divisor * divisor;
    return first + j * divisor;
  }

  /// The smallest values above 0.
  Sizes base_sizes() const {
    Sizes sizes;
    for (const Symbol& s : f_.symbols) {
      const int64_t first = value(s, 0);
      sizes.push_back(first == 0 && value(s, 1) <= s.max ? value(s, 1) : first);
    }
    return sizes;
  }

  /// Checks the values of symbol i that give its channels the telling numbers of items.
  void vary(const Sizes& base, size_t i) {
    const Symbol& symbol = f_.symbols[i];
    // The items of each channel when the symbol has its j-th value; nothing when that is too large.
    const auto items_at = [&](int64_t j) -> const Items* {
      if (j >= kMostValues || value(symbol, j) > symbol.max) return nullptr;
      Sizes sizes = base;
      sizes[i] = value(symbol, j);
      return run(sizes);
    };
    const Items* const none = items_at(0);
    if (!none || none->empty()) {
      for (const int64_t j : {1, 2, 3, 7}) items_at(j);
      return;
    }
    const Items channels = *none;
    for (const auto& [channel, least] : channels) {
      const int64_t n = channel->slots;
      // Items grow with the symbol: double it until there are enough, then look in between.
      int64_t enough = 0;
      const auto count = [&](int64_t j) -> std::optional<int64_t> {
        const Items* items = items_at(j);
        if (!items) return std::nullopt;
        const auto at = items->find(channel);
        return at == items->end() ? 0 : at->second;
      };
      for (int64_t j = 1; count(enough).value_or(0) < 2 * n + 1 && count(j); j *= 2) enough = j;
      for (const int64_t target : {int64_t{0}, int64_t{1}, n - 1, n, n + 1, 2 * n + 1}) {
        int64_t low = 0, high = enough;
        while (low < high) {
          const int64_t middle = low + (high - low) / 2;
          if (count(middle).value_or(0) >= target)
            high = middle;
          else
            low = middle + 1;
        }
        count(low);
      }
    }
  }

  /// Runs the function at one size, unless it has been; gives the items of its channels. Nothing
  /// when the size is too large to run.
  const Items* run(const Sizes& sizes) {
    const auto known = items_.find(sizes);
    if (known != items_.end()) return known->second ? &*known->second : nullptr;
    std::optional<Items>& items = items_[sizes];
    std::optional<std::vector<Array>> args = arguments(sizes);
    if (!args) return nullptr;
    if (!program_) program_ = run::compile(f_, Arithmetic::Ieee, true);
    for (uint64_t order = 0; order < (by_data_ ? kOrders : 1); ++order) {
      std::vector<Array> work = *args;
      const RunOptions options{.seed = order, .max_steps = kMostSteps};
      run::Machine machine(f_, *program_, options);
      try {
        machine.run(work, sizes);
      } catch (const Error& e) {
        if (e.diagnostic.code == "ir.run.limit" && items_.size() > 1) return nullptr;
        Diagnostic d = e.diagnostic;
        d.code = check_code(d.code);
        if (!sizes.empty()) d.notes.push_back(str("with ", print(sizes)));
        throw Error(std::move(d));
      }
      items = machine.items();
    }
    checked_.insert(sizes);
    return &*items;
  }

  /// Inputs for one size: integers are 0, which every index may be.
  std::optional<std::vector<Array>> arguments(const Sizes& sizes) const {
    run::Values values;
    for (size_t i = 0; i < std::min(sizes.size(), f_.symbols.size()); ++i)
      values.emplace_back(f_.symbols[i].var.as<VarNode>(), sizes[i]);
    std::vector<Array> args;
    int64_t total = 0;
    for (const Param& p : f_.params) {
      std::vector<int64_t> shape;
      int64_t size = 1;
      for (const Expr& extent : p.buffer->shape) {
        shape.push_back(run::evaluate(extent, values).value_or(0));
        if (shape.back() < 0 || __builtin_mul_overflow(size, shape.back(), &size))
          return std::nullopt;
      }
      if (__builtin_add_overflow(total, size, &total) || total > kMostElements) return std::nullopt;
      args.push_back(is_float(p.buffer->elem)
                         ? random_array(p.buffer->elem, std::move(shape), args.size() + 1)
                         : make_array(p.buffer->elem, std::move(shape)));
    }
    return args;
  }

  std::string print(const Sizes& sizes) const {
    std::string text;
    for (size_t i = 0; i < sizes.size(); ++i)
      text += str(i ? ", " : "", i < f_.symbols.size() ? f_.symbols[i].var.name() : "?", " = ",
                  sizes[i]);
    return text;
  }

  CheckReport report() const {
    CheckReport r;
    r.proved = !by_data_ && !checked_.empty();
    r.sizes.assign(checked_.begin(), checked_.end());
    r.summary = by_data_
                    ? str("explored in ", kOrders, " orders, not proved: atomics order it")
                    : std::string(r.proved ? "proved" : "not checked: all sizes are too large");
    if (f_.symbols.empty() || checked_.empty()) return r;
    r.summary += " for ";
    bool first = true;
    for (const Sizes& s : r.sizes) {
      r.summary += str(first ? "" : "; ", print(s));
      first = false;
    }
    return r;
  }

  const LoopFunc& f_;
  const bool by_data_;
  std::optional<run::Program> program_;
  std::map<Sizes, std::optional<Items>> items_;
  std::set<Sizes> checked_;
};

}  // namespace

CheckReport check_concurrency(const LoopFunc& f, const std::vector<std::vector<int64_t>>& sizes) {
  detail::verify_sync(f);  // else one execution would not decide for the others
  return Checker(f).check(sizes);
}

}  // namespace tilewright::ir
