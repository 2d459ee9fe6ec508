// SPDX-License-Identifier: Apache-2.0
#include "row_reduction.h"

namespace bench {

using namespace tilewright;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

void reduce_in_chains(Schedule& s, const std::string& name, const std::string& buffer,
                      int64_t chains, const ir::TargetSpec& spec) {
  const int64_t lanes = spec.lanes(32);
  const schedule::BlockRef block = s.block(name);
  const auto [k0, k1] = s.split<2>(s.loops(block).back(), {kOpen, lanes * chains});
  const auto [partial, combined] = s.rfactor(block, k1);
  s.set_scope(partial, buffer + "_rf", ir::ScopeKind::Register);
  const std::vector<LoopRef> own = s.loops(partial);  // …, row, k0, k1
  s.reorder({own[own.size() - 2], own[own.size() - 3], own.back()});
  s.decompose_reduction(combined, s.loops(combined).back());
  for (const std::string& b : {name + "_rf_init", name + "_rf", name}) {
    const std::vector<LoopRef> loops = s.loops(b);
    const auto [o, i] = s.split<2>(loops.back(), {kOpen, lanes});
    s.vectorize(i);
    s.unroll(o);
    s.unroll(loops[loops.size() - 2]);
  }
}

void map_in_vectors(Schedule& s, const std::string& name, int64_t vectors,
                    const ir::TargetSpec& spec) {
  const std::vector<LoopRef> own = s.loops(name);
  const auto [o, v] = s.split<2>(own.back(), {kOpen, vectors * spec.lanes(32)});
  s.reorder({o, own[own.size() - 2]});
  s.vectorize(v);
  s.unroll(own[own.size() - 2]);
}

}  // namespace bench
