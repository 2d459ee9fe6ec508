// SPDX-License-Identifier: Apache-2.0
#include "graph/choices.h"

#include <algorithm>
#include <set>

namespace tilewright::graph {
namespace {

/// The entry of a table for the choices made so far.
size_t entry(const CostTable& t, const std::vector<bool>& chosen) {
  size_t at = 0;
  for (size_t i = 0; i < t.vars.size(); ++i) at |= static_cast<size_t>(chosen[t.vars[i]]) << i;
  return at;
}

class Elimination {
 public:
  Elimination(size_t count, std::vector<CostTable> costs, size_t width)
      : width_(width), open_(count, true), tables_of_(count) {
    out_.chosen.resize(count);
    for (CostTable& t : costs) add(std::move(t));
  }

  Choices run() {
    const std::vector<CostTable> all = costs_;  // before any is taken
    for (size_t left = open_.size(); left > 0; --left) {
      const auto [var, neighbours] = next();
      if (neighbours > width_)
        decide_alone();
      else
        eliminate(var);
    }
    for (auto it = steps_.rbegin(); it != steps_.rend(); ++it)
      out_.chosen[it->var] = it->choice[entry({it->others, {}}, out_.chosen)];
    for (const CostTable& t : all) out_.cost += t.table[entry(t, out_.chosen)];
    return std::move(out_);
  }

 private:
  void add(CostTable table) {
    for (const size_t v : table.vars) tables_of_[v].push_back(costs_.size());
    costs_.push_back(std::move(table));
  }

  std::set<size_t> neighbours_of(size_t var) const {
    std::set<size_t> out;
    for (const size_t t : tables_of_[var]) out.insert(costs_[t].vars.begin(), costs_[t].vars.end());
    out.erase(var);
    return out;
  }

  /// The open choice that hangs together with the fewest others; two are few enough.
  std::pair<size_t, size_t> next() const {
    std::pair<size_t, size_t> best{0, SIZE_MAX};
    for (size_t v = 0; v < open_.size() && best.second > 2; ++v) {
      if (!open_[v]) continue;
      const size_t n = neighbours_of(v).size();
      if (n < best.second) best = {v, n};
    }
    return best;
  }

  /// The tables of a choice, which count no more.
  std::vector<CostTable> take(size_t var) {
    std::vector<CostTable> out;
    const std::vector<size_t> ids = tables_of_[var];
    for (const size_t t : ids) {
      for (const size_t v : costs_[t].vars) std::erase(tables_of_[v], t);
      out.push_back(std::move(costs_[t]));
    }
    return out;
  }

  /// One table over the neighbours: what the better choice costs, and which one it is.
  void eliminate(size_t var) {
    const std::set<size_t> others = neighbours_of(var);
    Step step{var, {others.begin(), others.end()}, {}};
    CostTable sum{step.others, {}};
    const std::vector<CostTable> tables = take(var);
    for (size_t at = 0; at < size_t{1} << step.others.size(); ++at) {
      for (size_t i = 0; i < step.others.size(); ++i) out_.chosen[step.others[i]] = at >> i & 1;
      double cost[2] = {0, 0};
      for (const bool choice : {false, true}) {
        out_.chosen[var] = choice;
        for (const CostTable& t : tables) cost[choice] += t.table[entry(t, out_.chosen)];
      }
      step.choice.push_back(cost[1] < cost[0]);
      sum.table.push_back(std::min(cost[0], cost[1]));
    }
    steps_.push_back(std::move(step));
    if (!sum.vars.empty()) add(std::move(sum));
    open_[var] = false;
  }

  /// The choice with the most neighbours, as if the others followed it.
  void decide_alone() {
    size_t var = 0, most = 0;
    for (size_t v = 0; v < open_.size(); ++v)
      if (const size_t n = open_[v] ? neighbours_of(v).size() : 0; n >= most && open_[v])
        var = v, most = n;
    const auto with = [&](const CostTable& t, bool choice) {  // what is left of the table
      const auto found = std::ranges::find(t.vars, var);
      const auto bit = static_cast<size_t>(found - t.vars.begin());
      CostTable rest{t.vars, {}};
      rest.vars.erase(rest.vars.begin() + static_cast<std::ptrdiff_t>(bit));
      for (size_t at = 0; at < t.table.size(); ++at)
        if ((at >> bit & 1) == static_cast<size_t>(choice)) rest.table.push_back(t.table[at]);
      return rest;
    };
    const std::vector<CostTable> tables = take(var);
    double cost[2] = {0, 0};
    for (const CostTable& t : tables)
      for (const bool choice : {false, true})
        cost[choice] += std::ranges::min(with(t, choice).table);
    const bool choice = cost[1] < cost[0];
    for (const CostTable& t : tables)
      if (t.vars.size() > 1) add(with(t, choice));
    steps_.push_back({var, {}, {choice}});
    open_[var] = false;
    out_.exact = false;
  }

  struct Step {
    size_t var;
    std::vector<size_t> others;
    std::vector<bool> choice;  // by the choices of the others
  };
  std::vector<CostTable> costs_;
  const size_t width_;
  std::vector<bool> open_;
  std::vector<std::vector<size_t>> tables_of_;  // by choice
  std::vector<Step> steps_;
  Choices out_;
};

}  // namespace

Choices cheapest(size_t count, std::vector<CostTable> costs, size_t width) {
  return Elimination(count, std::move(costs), width).run();
}

}  // namespace tilewright::graph
