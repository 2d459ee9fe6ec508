// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include "ir/target_spec.h"

namespace tilewright::target::llvm {

namespace ll = ::llvm;

/// LLVM gave up. What it was working on must be leaked: parts of it point into frames that are gone
/// without having been cleaned up.
class GivenUp : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// By which model of the machine instructions are put in order.
enum class Scheduling : uint8_t { OfTheCpu, Generic };

/// The code generator for one target: made once, used by one thread at a time, kept for the next
/// kernel.
class Machine {
 public:
  explicit Machine(const ir::TargetSpec& spec);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Gives a new module the target's triple and data layout.
  void prepare(ll::Module& module) const;
  /// Gives its functions the CPU.
  void set_cpu(ll::Module& module, Scheduling scheduling) const;

  /// The passes after emission. Only those that clean up: register promotion, common
  /// subexpressions, invariants out of loops, dead code. Vectorising, unrolling and interleaving
  /// have been decided by the schedule, and LLVM's own would break the register budget of the inner
  /// loops.
  void optimize(ll::Module& module);

  enum class Output : uint8_t { Object, Assembly };
  /// Machine code or its text. May throw GivenUp, as `optimize` may.
  std::string generate(ll::Module& module, Output output) const;

  const ll::TargetMachine& target() const { return *target_; }

 private:
  struct Passes;
  std::unique_ptr<ll::TargetMachine> target_;
  std::unique_ptr<Passes> passes_;
};

/// A machine taken from those kept, back there when this goes out of scope.
class MachineLease {
 public:
  explicit MachineLease(const ir::TargetSpec& spec);
  ~MachineLease();
  MachineLease(const MachineLease&) = delete;
  MachineLease& operator=(const MachineLease&) = delete;
  Machine& operator*() const { return *machine_; }
  Machine* operator->() const { return machine_.get(); }
  void leak() { (void)machine_.release(); }

 private:
  std::string key_;
  std::unique_ptr<Machine> machine_;
};

/// The code generator's names for a target: its CPU and features, those of this machine for
/// "native".
struct CpuName {
  std::string cpu, features;
};
CpuName cpu_name(const ir::TargetSpec& spec);

/// Makes LLVM know its targets; safe to call again.
void initialize_llvm();

}  // namespace tilewright::target::llvm
