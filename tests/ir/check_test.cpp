// SPDX-License-Identifier: Apache-2.0
#include "ir/check/check.h"

#include "run_text.h"

namespace tilewright::ir {
namespace {

TEST(CheckConcurrency, TriesMoreItemsThanSlots) {
  // The slot is given back before it is read: wrong once the ring comes round.
  const LoopFunc f = parse_function(R"(
    loops f(A: in i64[n], C: out i64[n]) where n in 0..64 stage scheduled {
      bind(block.x) for b in 0..1 {
        alloc s: i64[2] shared
        channel ch[2] commits=1 releases=1 over block
        agents {
          put(t in 0..1): { for k in 0..n { acquire ch[k]
                                            s[k % 2] = A[k]
                                            commit ch[k] } }
          get(t in 0..1): { for k in 0..n { wait ch[k]
                                            release ch[k]
                                            C[k] = s[k % 2] } }
        }
      }
    })");
  const Diagnostic d = diagnostic_of([&] { check_concurrency(f); });
  EXPECT_EQ(d.code, "ir.check.race");
}

}  // namespace
}  // namespace tilewright::ir
