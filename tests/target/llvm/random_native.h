// SPDX-License-Identifier: Apache-2.0
// Random programs × schedules as machine code against the interpreter, to the last bit.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "ir/interpret/interpret.h"
#include "ir/print.h"
#include "lower/pipeline.h"
#include "schedule/random_schedule.h"
#include "target/host.h"
#include "target/llvm/compile.h"

namespace tilewright::target::llvm {

/// Empty when the compiled kernel gives what the interpreter gives; else what differs.
inline std::string check_native_case(uint64_t seed, const ir::TargetSpec& spec) {
  schedule::Random random(seed);
  schedule::Schedule s(lower::to_blocks(schedule::random_program(random, false)),
                       schedule::random_instructions());
  schedule::random_steps(s, random, static_cast<int>(random.in(1, 12)),
                         /*hardware=*/false);
  ir::LoopFunc final;
  try {
    lower::PassContext context;
    final = lower::run(lower::cpu_pipeline(), s.func(), context);
  } catch (const Error& e) {
    if (e.diagnostic.code.starts_with("lower.")) return {};  // a reasoned refusal
    throw;
  }
  std::vector<ir::Array> expected;
  std::vector<std::vector<std::byte>> memory;
  for (const ir::Param& p : final.params) {
    const int64_t size = *ir::const_int(p.buffer->shape.at(0));
    expected.push_back(ir::random_array(p.buffer->elem, {size}, seed + expected.size()));
    memory.push_back(ir::to_bytes(expected.back()));
  }
  try {
    ir::interpret(final, expected, {}, {.max_steps = 20'000'000});
  } catch (const Error& e) {
    if (e.diagnostic.code == "ir.run.limit") return {};
    throw;
  }
  JitKernel kernel;
  try {
    kernel = compile(final, spec, {.numerics = Numerics::Ieee});
  } catch (const Error& e) {
    if (e.diagnostic.code == "target.llvm.register_size") return {};
    throw;
  }
  // Vectors may be loaded with the alignment of their element only.
  std::vector<void*> pointers;
  for (auto& m : memory) pointers.push_back(m.data());
  kernel.call(pointers);
  for (size_t i = 0; i < expected.size(); ++i)
    if (ir::to_bytes(expected[i]) != memory[i])
      return "seed " + std::to_string(seed) + ": `" + final.params[i].buffer->name +
             "` differs from the interpreter\n" + ir::print(final);
  return {};
}

}  // namespace tilewright::target::llvm
