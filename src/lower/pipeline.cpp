// SPDX-License-Identifier: Apache-2.0
#include "lower/pipeline.h"

#include <algorithm>
#include <chrono>

#include "ir/rewrite.h"
#include "ir/verify.h"
#include "lower/passes/passes.h"
#include "support/str.h"

namespace tilewright::lower {
namespace {

constexpr Pass kLowerInstructions{"lower_instructions", lower_instructions};
constexpr Pass kLowerBlocks{"lower_blocks", lower_blocks};
constexpr Pass kSimplify{"simplify", simplify};
constexpr Pass kCompactStorage{"compact_storage", compact_storage};
constexpr Pass kLowerVthread{"lower_vthread", lower_vthread};
constexpr Pass kInsertBarriers{"insert_barriers", insert_barriers};
constexpr Pass kPartition{"partition", partition};
constexpr Pass kVectorize{"vectorize", vectorize};
constexpr Pass kScaleSums{"scale_sums", scale_sums};
constexpr Pass kUnroll{"unroll", unroll};
constexpr Pass kLowerUpdates{"lower_updates", lower_updates};
constexpr Pass kFlatten{"flatten", flatten};
constexpr Pass kHoistInvariants{"hoist_invariants", hoist_invariants};
constexpr Pass kEliminateCommonSubexpressions{"eliminate_common_subexpressions",
                                              eliminate_common_subexpressions};
constexpr Pass kRemoveDead{"remove_dead", remove_dead};

constexpr Pass kAll[] = {
    kLowerInstructions, kLowerBlocks,
    kSimplify,          kCompactStorage,
    kLowerVthread,      kInsertBarriers,
    kPartition,         kVectorize,
    kScaleSums,         kUnroll,
    kLowerUpdates,      kFlatten,
    kHoistInvariants,   kEliminateCommonSubexpressions,
    kRemoveDead,
};

constexpr Pass kCpu[] = {
    kLowerInstructions, kLowerBlocks,     kSimplify,     kLowerVthread,
    kCompactStorage,    kSimplify,        kPartition,    kSimplify,
    kVectorize,         kScaleSums,       kLowerUpdates, kFlatten,
    kSimplify,          kHoistInvariants, kUnroll,       kEliminateCommonSubexpressions,
    kRemoveDead,
};

[[noreturn]] void refuse_order(std::string_view pass, std::string_view earlier, const Span& at,
                               const std::string& found) {
  throw Error({.code = "lower.pipeline.order",
               .at = at,
               .message = str("`", pass, "` cannot run yet"),
               .notes = {found},
               .help = str("run `", earlier, "` before it")});
}

/// The program came in verified, so what is wrong now is a mistake of the pass.
void verify_after(const Pass& pass, const ir::LoopFunc& func) {
  try {
    ir::verify(func);
  } catch (const Error& e) {
    throw InternalError(str("pass `", pass.name, "` broke the program: ", e.what()));
  }
}

}  // namespace

ir::LoopFunc run(std::span<const Pass> passes, ir::LoopFunc func, PassContext& context) {
  ir::verify(func);
  for (const Pass& pass : passes) {
    if (std::ranges::find(context.skip, pass.name) != context.skip.end()) continue;
    const auto start = std::chrono::steady_clock::now();
    func = pass.run(func, context);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    context.times.push_back({pass.name, took.count()});
    verify_after(pass, func);
    if (context.after) context.after(pass, func);
  }
  return func;
}

std::span<const Pass> all_passes() { return kAll; }

const Pass* find_pass(std::string_view name) {
  const auto found = std::ranges::find(kAll, name, &Pass::name);
  return found == std::end(kAll) ? nullptr : found;
}

std::span<const Pass> cpu_pipeline() { return kCpu; }

void require_no_blocks(const ir::LoopFunc& func, std::string_view pass) {
  ir::walk(func.body, [&](const ir::Block& b) {
    refuse_order(pass, "lower_blocks", b.span, str("block `", b.name, "` is still there"));
  });
}

void require_no_updates(const ir::LoopFunc& func, std::string_view pass) {
  ir::walk(func.body, [&](const ir::Update& u) {
    refuse_order(pass, "lower_updates", u.span,
                 str("an update of `", u.targets[0].buffer->name, "` is still there"));
  });
}

void require_no_loops(const ir::LoopFunc& func, ir::ForKind kind, std::string_view pass,
                      std::string_view earlier) {
  ir::walk(func.body, [&](const ir::For& f) {
    if (f.loop == kind)
      refuse_order(pass, earlier, f.span,
                   str("the ", name(kind), " loop `", f.var.name(), "` is still there"));
  });
}

}  // namespace tilewright::lower
