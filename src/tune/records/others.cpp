// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "support/sha256.h"
#include "support/str.h"
#include "tune/records/core.h"
#include "tune/records/records.h"

namespace tilewright::tune {
namespace {

// A file may hold anything: what is longer is no schedule, what is further off no measurement.
constexpr const char* kUsable =
    "r.verdict = 0 AND r.ratio BETWEEN 1e-3 AND 1e3 AND length(r.trace) BETWEEN 1 AND 65536 AND "
    "r.target = ? AND r.threads = ? ";

/// So many of them, the first and the last among them, in even steps.
std::vector<int64_t> spread(const std::vector<int64_t>& all, size_t count) {
  if (all.size() <= count || count < 2) return all;
  std::vector<int64_t> out;
  for (size_t i = 0; i < count; ++i) out.push_back(all[i * (all.size() - 1) / (count - 1)]);
  return out;
}

}  // namespace

std::vector<Records::Programs> Records::others(const std::vector<std::string>& workloads,
                                               const std::string& target, int threads,
                                               size_t kernels, size_t of_each) {
  const auto t = find("target", target);
  if (!t) return {};
  std::set<std::string> own, kinds, cores;
  for (const std::string& w : workloads) {
    own.insert(sha256(w));
    kinds.insert(sha256(kind_of(w).text));
    if (const std::string core = core_hash(w); !core.empty()) cores.insert(core);
  }
  struct Kernel {
    int64_t id, newest;  // a record
    int apart;
  };
  std::vector<Kernel> found;
  Statement s = database_.prepare(
      str("SELECT w.id, max(r.id), w.hash, w.kind, w.core FROM record r JOIN workload w ON w.id = "
          "r.workload WHERE ",
          kUsable, "GROUP BY w.id ORDER BY max(r.id) DESC"));
  s.bind(1, *t).bind(2, int64_t{threads});
  while (s.step())
    if (!own.contains(s.text(2)))
      found.push_back({s.integer(0), s.integer(1),
                       kinds.contains(s.text(3))   ? 0
                       : cores.contains(s.text(4)) ? 1
                                                   : 2});
  std::ranges::stable_sort(found, {}, &Kernel::apart);
  if (found.size() > kernels) found.resize(kernels);

  // Times are relative to the default schedule, which another compiler may have had another of.
  Statement of_kernel = database_.prepare(
      str("SELECT r.id FROM record r WHERE ", kUsable,
          "AND r.workload = ? AND r.compiler = (SELECT compiler FROM record WHERE id = ?) ORDER BY "
          "r.ratio, r.id"));
  Statement text = database_.prepare("SELECT text FROM workload WHERE id = ?");
  Statement record = database_.prepare("SELECT trace, ratio FROM record WHERE id = ?");
  std::vector<Programs> out;
  for (const Kernel& k : found) {
    of_kernel.bind(1, *t).bind(2, int64_t{threads}).bind(3, k.id).bind(4, k.newest);
    std::vector<int64_t> ids;
    while (of_kernel.step()) ids.push_back(of_kernel.integer(0));
    of_kernel.reset();
    text.bind(1, k.id);
    if (!text.step()) continue;
    Programs& programs = out.emplace_back(text.text(0));
    text.reset();
    for (const int64_t id : spread(ids, of_each)) {
      record.bind(1, id);
      if (record.step()) programs.measured.push_back({record.text(0), record.real(1)});
      record.reset();
    }
  }
  return out;
}

}  // namespace tilewright::tune
