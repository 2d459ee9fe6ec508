// SPDX-License-Identifier: Apache-2.0
// The greatest error of the inline functions over f32 inputs.
//   ulp_check [--all] [--threads N] [NAME…]     all 2^32 inputs of the named functions, or every
//   1,021st
#ifdef TILEWRIGHT_LLVM
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ir/scalar.h"
#include "runtime/thread_pool.h"
#include "target/host.h"
#include "target/llvm/compile.h"
#include "target/llvm/programs.h"
#include "target/llvm/ulp.h"

namespace {

using namespace tilewright;
using namespace tilewright::target::llvm;

constexpr int64_t kBlock = 1 << 14;

ir::LoopFunc kernel_of(ir::MathFn fn, int lanes) {
  const ir::Buffer x = array("x", ir::Elem::F32, kBlock), y = array("y", ir::Elem::F32, kBlock);
  const ir::Var i("i");
  const ir::Expr at = ramp(ir::Expr(i) * lanes, lanes);
  const ir::Stmt body = store(y, at, ir::call(fn, {ir::load(x, {at})}));
  return final_func("f", {{x, ir::Access::In}, {y, ir::Access::Out}},
                    loop(i, kBlock / lanes, body));
}

struct Worst {
  double ulps = 0;
  uint32_t input = 0;
};

Worst check(ir::MathFn fn, uint64_t step, runtime::ThreadPool& pool) {
  const JitKernel kernel =
      compile(kernel_of(fn, target::host_target().lanes(32)), target::host_target());
  const auto inputs = static_cast<int64_t>(((uint64_t{1} << 32) + step - 1) / step);
  std::vector<Worst> worst(static_cast<size_t>(pool.workers()));
  pool.parallel_for((inputs + kBlock - 1) / kBlock, [&](int64_t begin, int64_t end,
                                                        int32_t worker) {
    std::vector<float> x(kBlock), y(kBlock);
    void* buffers[] = {x.data(), y.data()};
    Worst& w = worst[static_cast<size_t>(worker)];
    for (int64_t block = begin; block < end; ++block) {
      for (int64_t i = 0; i < kBlock; ++i) {
        const auto bits = static_cast<uint32_t>(static_cast<uint64_t>(block * kBlock + i) * step);
        std::memcpy(&x[static_cast<size_t>(i)], &bits, 4);
      }
      kernel.call(buffers);
      for (size_t i = 0; i < kBlock; ++i) {
        const double arg = x[i];
        const double ulps = ulp_error(ir::Elem::F32, y[i], ir::float_call(fn, ir::Elem::F64, &arg));
        if (ulps > w.ulps) {
          w.ulps = ulps;
          std::memcpy(&w.input, &x[i], 4);
        }
      }
    }
  });
  return *std::max_element(worst.begin(), worst.end(),
                           [](const Worst& a, const Worst& b) { return a.ulps < b.ulps; });
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t step = 1021;
  int threads = 0;
  std::vector<ir::MathFn> fns;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--all") {
      step = 1;
    } else if (arg == "--threads" && i + 1 < argc) {
      threads = std::atoi(argv[++i]);
    } else if (const std::optional<ir::MathFn> fn = ir::math_from_name(arg)) {
      fns.push_back(*fn);
    } else {
      std::fprintf(stderr, "usage: ulp_check [--all] [--threads N] [NAME...]\n");
      return 1;
    }
  }
  if (fns.empty()) fns.assign(std::begin(kApproximate), std::end(kApproximate));
  runtime::ThreadPool pool(threads);
  bool good = true;
  for (const ir::MathFn fn : fns) {
    const Worst w = check(fn, step, pool);
    float x = 0;
    std::memcpy(&x, &w.input, 4);
    std::printf("%-8s %8.3f ulp at %a\n", std::string(ir::info(fn).name).c_str(), w.ulps,
                static_cast<double>(x));
    std::fflush(stdout);
    good &= w.ulps <= 2;
  }
  return good ? 0 : 1;
}
#else
int main() { return 0; }
#endif
