// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <cstring>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arguments.h"
#include "bind_schedule.h"
#include "driver/kernel.h"
#include "error.h"
#include "graph/constant.h"
#include "ir/interpret/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lock.h"
#include "lower/to_blocks.h"
#include "lower/to_instruction.h"
#include "native_schedule.h"
#include "runtime/thread_pool.h"
#include "support/str.h"
#include "target/host.h"
#include "te.h"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

using Symbols = std::map<std::string, int64_t>;

/// A function as machine code of this process. Python threads may call it at once.
class Kernel {
 public:
  Kernel(const ir::LoopFunc& func, const ir::TargetSpec& target, int threads)
      : func_(func), code_(driver::compile_kernel(func, target)), pool_(checked(threads)) {}

  /// `outputs` are the caller's memory for the results, or none.
  nb::list call(const nb::list& inputs, const Symbols& symbols,
                const std::optional<std::vector<Bytes>>& outputs) {
    const Arguments args = arguments_of(func_, inputs, symbols);
    std::vector<Bytes> memory;  // of every parameter
    std::vector<void*> buffers;
    nb::list results;
    for (size_t i = 0, in = 0, out = 0; i < func_.params.size(); ++i) {
      const ir::Param& p = func_.params[i];
      int64_t count = 1;
      for (const int64_t n : args.shapes[i]) count *= n;
      const int64_t size = graph::byte_size(p.buffer->elem, count);
      if (p.access == ir::Access::In) {
        memory.push_back(aligned(args.inputs[in++], p));
      } else {
        memory.push_back(outputs ? outputs->at(out++) : new_bytes(size));
        if (static_cast<int64_t>(memory.back().size()) != size)
          refuse_value("python.kernel.memory",
                       str("the memory for `", p.buffer->name, "` has ", memory.back().size(),
                           " bytes, it needs ", size),
                       "give an array of the output's type and shape");
        if (p.access == ir::Access::InOut)
          std::memcpy(const_cast<uint8_t*>(memory.back().data()), args.inputs[in++].data(),
                      static_cast<size_t>(size));
        results.append(tensor_object(p.buffer->elem, args.shapes[i], memory.back()));
      }
      buffers.push_back(const_cast<uint8_t*>(memory.back().data()));
    }
    if (outputs) refuse_overlap(memory);
    {
      const Unlocked unlocked;
      code_.call(buffers, args.symbols, pool_.host());
    }
    return results;
  }

 private:
  static int checked(int threads) {
    if (threads < 0 || threads > runtime::ThreadPool::kMaxWorkers)
      refuse_value("python.kernel.threads", str("a kernel with ", threads, " threads"),
                   str("give 1 to ", runtime::ThreadPool::kMaxWorkers,
                       ", or 0 for as many as there are CPUs"));
    return threads;
  }

  static Bytes aligned(const Bytes& bytes, const ir::Param& p) {
    const auto needed = static_cast<uintptr_t>(
        std::max<int64_t>(p.buffer->alignment, (ir::bits(p.buffer->elem) + 7) / 8));
    if (reinterpret_cast<uintptr_t>(bytes.data()) % needed == 0) return bytes;
    Bytes copy = new_bytes(static_cast<int64_t>(bytes.size()));
    std::memcpy(const_cast<uint8_t*>(copy.data()), bytes.data(), bytes.size());
    return copy;
  }

  void refuse_overlap(const std::vector<Bytes>& memory) const {
    for (size_t i = 0; i < memory.size(); ++i)
      for (size_t k = 0; k < memory.size(); ++k)
        if (i != k && func_.params[i].access != ir::Access::In &&
            memory[i].data() < memory[k].data() + memory[k].size() &&
            memory[k].data() < memory[i].data() + memory[i].size())
          refuse_value("python.kernel.memory",
                       str("the memory for `", func_.params[i].buffer->name, "` overlaps that of `",
                           func_.params[k].buffer->name, "`"),
                       "give an array of its own");
  }

  ir::LoopFunc func_;
  target::llvm::JitKernel code_;
  runtime::ThreadPool pool_;
};

nb::list interpret(const ir::LoopFunc& func, const nb::list& inputs, const Symbols& symbols) {
  const Arguments args = arguments_of(func, inputs, symbols);
  std::vector<ir::Array> arrays;
  for (size_t i = 0, in = 0; i < func.params.size(); ++i) {
    const ir::Param& p = func.params[i];
    if (p.access == ir::Access::Out) {
      arrays.push_back(ir::make_array(p.buffer->elem, args.shapes[i]));
      continue;
    }
    const Bytes& bytes = args.inputs[in++];
    arrays.push_back(ir::from_bytes(p.buffer->elem, args.shapes[i],
                                    std::as_bytes(std::span(bytes.data(), bytes.size()))));
  }
  {
    const Unlocked unlocked;
    ir::interpret(func, arrays, args.symbols);
  }
  nb::list results;
  for (size_t i = 0; i < func.params.size(); ++i) {
    if (func.params[i].access == ir::Access::In) continue;
    const std::vector<std::byte> bytes = ir::to_bytes(arrays[i]);
    const Bytes memory = new_bytes(static_cast<int64_t>(bytes.size()));
    std::memcpy(const_cast<uint8_t*>(memory.data()), bytes.data(), bytes.size());
    results.append(tensor_object(func.params[i].buffer->elem, args.shapes[i], memory));
  }
  return results;
}

ir::Scope scope_of(const std::string& name) {
  for (int k = 0; k < static_cast<int>(ir::ScopeKind::Named); ++k)
    if (const ir::Scope scope{static_cast<ir::ScopeKind>(k), {}}; ir::print(scope) == name)
      return scope;
  return {ir::ScopeKind::Named, name};
}

ir::Instruction instruction_of(const nb::object& what,
                               const std::map<std::string, std::string>& scopes,
                               const std::string& emit) {
  if (nb::isinstance<te::Program>(what)) {
    std::vector<lower::OperandDeclaration> operands;
    for (const auto& [name, scope] : scopes) operands.push_back({name, scope_of(scope), nullptr});
    return lower::to_instruction(nb::cast<te::Program>(what), operands, emit);
  }
  const std::vector<ir::Instruction> all =
      ir::parse(taken<std::string>(what, "the meaning", "a te.Program, or the text of an `instr`"))
          .instructions;
  if (all.size() != 1)
    refuse_value("python.instruction.count",
                 str("the text declares ", all.size(), " instructions, it must be one"),
                 "write one `instr` item");
  return all[0];
}

}  // namespace

ir::LoopFunc function_of(const nb::object& what) {
  ir::LoopFunc func = nb::isinstance<te::Program>(what)
                          ? lower::to_blocks(nb::cast<te::Program>(what))
                          : ir::parse_function(taken<std::string>(
                                what, "the program", "a te.Program, or the text of a function"));
  ir::verify(func);
  return func;
}

Schedule::Schedule(const nb::object& what, std::vector<ir::Instruction> instructions,
                   const std::string& target_name)
    : target(target::parse_target(target_name)), steps(function_of(what), [&] {
        instructions.insert(instructions.end(), target.instructions.begin(),
                            target.instructions.end());
        return instructions;
      }()) {}

std::vector<std::string> Schedule::run(const std::string& line) {
  const schedule::Trace trace = schedule::parse_trace(str("trace step {\n  ", line, "\n}"), "step");
  require(trace.lines.size() == 1, "a step is one line of a trace");
  return steps.run(trace.lines[0].step);
}

void bind_schedule(nb::module_& m) {
  nb::class_<ir::Instruction>(m, "Instruction")
      .def_prop_ro("name", [](const ir::Instruction& i) { return i->name; })
      .def("__str__", [](const ir::Instruction& i) { return ir::print(i); });
  m.def("instruction", instruction_of);
  nb::class_<Kernel>(m, "Kernel")
      .def("call", &Kernel::call, nb::arg("inputs"), nb::arg("symbols"), nb::arg("outputs").none());
  nb::class_<Schedule>(m, "Schedule")
      .def(nb::init<const nb::object&, std::vector<ir::Instruction>, const std::string&>())
      .def("run", &Schedule::run)
      .def("decide", [](Schedule& s, const std::string& name, int64_t value,
                        std::vector<int64_t> of) { s.steps.decide(name, value, std::move(of)); })
      .def("lanes", [](const Schedule& s,
                       const std::string& elem) { return s.target.lanes(ir::bits(elem_of(elem))); })
      .def("vector_registers", [](const Schedule& s) { return s.target.vector_registers; })
      .def("program",
           [](const Schedule& s) { return ir::print(ir::Unit{{}, {}, {s.steps.func()}}); })
      .def("trace", [](const Schedule& s) { return schedule::print(s.steps.trace()); })
      .def("interpret",
           [](const Schedule& s, const nb::list& inputs, const Symbols& symbols) {
             return interpret(s.steps.func(), inputs, symbols);
           })
      .def("build", [](const Schedule& s, int threads) {
        return new Kernel(s.steps.func(), s.target, threads);
      });
}

}  // namespace tilewright::python
