// SPDX-License-Identifier: Apache-2.0
// Objects into this process's memory. One session serves the process; each kernel is a library of
// its own in it, removed with the last JitKernel that uses it.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/TaskDispatch.h"

#include "ir/build.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "target/llvm/compile.h"
#include "target/llvm/machine.h"

namespace tilewright::target::llvm {
namespace {

[[noreturn]] void fail(ll::Error error, const char* what) {
  throw InternalError(str(what, ": ", ll::toString(std::move(error))));
}

template <class T>
T check(ll::Expected<T> value, const char* what) {
  if (!value) fail(value.takeError(), what);
  return std::move(*value);
}

class Session {
 public:
  static Session& get() {
    static Session* session = new Session();  // never destroyed: kernels may live in static objects
    return *session;
  }

  ll::orc::JITDylib& add(const std::string& object) {
    ll::orc::JITDylib& library = session_.createBareJITDylib(str("kernel", next_++));
    library.addToLinkOrder(imports_);
    auto buffer = ll::MemoryBuffer::getMemBufferCopy(object, library.getName());
    if (ll::Error e = layer_.add(library, std::move(buffer))) fail(std::move(e), "adding a kernel");
    return library;
  }

  void* find(ll::orc::JITDylib& library, const std::string& name) {
    return check(session_.lookup({&library}, name), "linking a kernel").getAddress().toPtr<void*>();
  }

  void remove(ll::orc::JITDylib& library) { ll::consumeError(session_.removeJITDylib(library)); }

 private:
  Session()
      : session_(check(ll::orc::SelfExecutorProcessControl::Create(
                           nullptr, std::make_unique<ll::orc::InPlaceTaskDispatcher>()),
                       "starting the JIT")),
        layer_(session_),
        imports_(session_.createBareJITDylib("imports")) {
    const auto symbol = [](void* address) {
      return ll::orc::ExecutorSymbolDef(ll::orc::ExecutorAddr::fromPtr(address),
                                        ll::JITSymbolFlags::Exported);
    };
    ll::Error e = imports_.define(ll::orc::absoluteSymbols(
        {{session_.intern("memcpy"), symbol(reinterpret_cast<void*>(&std::memcpy))},
         {session_.intern("memset"), symbol(reinterpret_cast<void*>(&std::memset))}}));
    if (e) fail(std::move(e), "starting the JIT");
  }

  ll::orc::ExecutionSession session_;
  ll::orc::ObjectLinkingLayer layer_;
  ll::orc::JITDylib& imports_;
  std::atomic<int64_t> next_{0};
};

constexpr size_t kAlign = 64;

struct Free {
  void operator()(void* p) const { std::free(p); }
};

/// An integer expression of the symbols.
int64_t evaluate(const ir::Expr& e, std::span<const ir::Var> symbols,
                 std::span<const int64_t> values) {
  const ir::Expr folded = ir::rewrite(
      e,
      [&](const ir::VarNode& node, auto&) -> ir::Expr {
        const auto at = std::find(symbols.begin(), symbols.end(), ir::Var::of(node));
        require(at != symbols.end(), "a workspace's size is not an expression of the symbols");
        return values[static_cast<size_t>(at - symbols.begin())];
      },
      [](const ir::Binary& b, auto& self) -> ir::Expr {
        return ir::binary(b.op, self(b.a), self(b.b));
      });
  const std::optional<int64_t> n = ir::const_int(folded);
  require(n.has_value(), "a workspace's size is not an integer expression");
  return *n;
}

std::unique_ptr<void, Free> allocate(int64_t bytes) {
  if (bytes <= 0) return nullptr;
  return std::unique_ptr<void, Free>(std::aligned_alloc(kAlign, static_cast<size_t>(bytes)));
}

}  // namespace

JitKernel load(Kernel kernel, std::vector<ir::Var> symbols) {
  initialize_llvm();
  Session& session = Session::get();
  ll::orc::JITDylib& library = session.add(kernel.code);
  JitKernel out;
  out.code_ = std::shared_ptr<const void>(&library, [](const void* p) {
    Session::get().remove(
        *const_cast<ll::orc::JITDylib*>(static_cast<const ll::orc::JITDylib*>(p)));
  });
  out.function_ = reinterpret_cast<tw_kernel>(session.find(library, kernel.entry));
  out.kernel_ = std::make_shared<const Kernel>(std::move(kernel));
  out.symbols_ = std::move(symbols);
  return out;
}

void JitKernel::call(std::span<void* const> buffers, std::span<const int64_t> scalars,
                     tw_host host) const {
  require(scalars.size() == symbols_.size(), "a kernel is called with another number of scalars");
  const auto bytes = [&](const ir::Expr& size) { return evaluate(size, symbols_, scalars); };
  std::unique_ptr<void, Free> workspace, scratch;
  if (!host.workspace) {
    workspace = allocate(bytes(kernel_->workspace.shared));
    host.workspace = workspace.get();
  }
  const int64_t per_worker = bytes(kernel_->workspace.per_worker);
  if (host.scratch_bytes < per_worker) {
    scratch = allocate(per_worker * host.workers);
    host.scratch = scratch.get();
    host.scratch_bytes = per_worker;
  }
  function_(buffers.data(), scalars.data(), &host);
}

void JitKernel::call(std::span<void* const> buffers, std::span<const int64_t> scalars) const {
  call(buffers, scalars,
       {.context = nullptr,
        .parallel_for = tw_serial_for,
        .workspace = nullptr,
        .scratch = nullptr,
        .scratch_bytes = 0,
        .workers = 1});
}

}  // namespace tilewright::target::llvm
