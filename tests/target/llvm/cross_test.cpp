// SPDX-License-Identifier: Apache-2.0
// Code for other machines: objects for every target; those of AArch64 and RISC-V run under qemu,
// against this machine's results.
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

#include "support/str.h"
#include "target/host.h"
#include "target/llvm/arrays.h"
#include "target/llvm/compile.h"
#include "target/llvm/programs.h"

namespace tilewright::target::llvm {
namespace {

namespace fs = std::filesystem;
using namespace ir;
using target::llvm::store;

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "tw-cross-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Reads all buffers from a file, calls the kernel, writes them back.
constexpr const char* kMain = R"(
#include <stdio.h>
#include <stdlib.h>
#include "tilewright/kernel.h"
int32_t KERNEL(void* const* buffers, const int64_t* scalars, const tw_host* host);
int main(int argc, char** argv) {
  FILE* f = fopen(argv[1], "rb");
  int64_t n, size[64];
  void* buffer[64];
  if (argc != 2 || !f || fread(&n, 8, 1, f) != 1 || n > 64) return 2;
  for (int64_t i = 0; i < n; ++i) {
    if (fread(&size[i], 8, 1, f) != 1) return 2;
    buffer[i] = aligned_alloc(64, (size[i] + 63) / 64 * 64);
    if (fread(buffer[i], 1, size[i], f) != (size_t)size[i]) return 2;
  }
  fclose(f);
  tw_host host = {0, tw_serial_for, aligned_alloc(64, 1 << 20), aligned_alloc(64, 1 << 20), 1 << 20, 1};
  if (KERNEL(buffer, 0, &host) != 0) return 3;
  f = fopen(argv[1], "wb");
  for (int64_t i = 0; i < n; ++i) fwrite(buffer[i], 1, size[i], f);
  return fclose(f);
})";

struct Emulator {
  const char* target;
  const char* compiler;
  const char* run;
};
constexpr Emulator kEmulators[] = {
    {"aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64 -cpu max"},
    {"riscv64", "riscv64-linux-gnu-gcc", "qemu-riscv64 -cpu rv64,v=true,vlen=128"},
};

bool installed(const std::string& command) {
  const std::string program = command.substr(0, command.find(' '));
  return std::system(str("command -v ", program, " >/dev/null 2>&1").c_str()) == 0;
}

/// Runs a function for another machine on these buffers, in place.
void run_emulated(const Emulator& e, const LoopFunc& f,
                  const std::vector<std::pair<void*, size_t>>& buffers) {
  const Folder folder;
  write(folder.path / "kernel.o", emit_object(f, parse_target(e.target)).code);
  write(folder.path / "main.c", kMain);
  const std::string data = (folder.path / "data").string();
  {
    std::ofstream out(data, std::ios::binary);
    const auto word = [&](int64_t v) { out.write(reinterpret_cast<const char*>(&v), 8); };
    word(static_cast<int64_t>(buffers.size()));
    for (const auto& [bytes, size] : buffers) {
      word(static_cast<int64_t>(size));
      out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    }
  }
  const std::string dir = folder.path.string();
  // Nothing but memcpy and memset comes from outside: the C library is there for main alone.
  ASSERT_EQ(std::system(str(e.compiler, " -O1 -static -Iinclude -DKERNEL=", f.name, " ", dir,
                            "/main.c ", dir, "/kernel.o -o ", dir, "/main 2>", dir, "/log")
                            .c_str()),
            0)
      << std::ifstream(dir + "/log").rdbuf();
  ASSERT_EQ(std::system(str(e.run, " ", dir, "/main ", data).c_str()), 0);
  std::ifstream in(data, std::ios::binary);
  for (const auto& [bytes, size] : buffers)
    in.read(static_cast<char*>(bytes), static_cast<std::streamsize>(size));
}

class Cross : public testing::TestWithParam<Emulator> {
 protected:
  void SetUp() override {
    if (!installed(GetParam().compiler) || !installed(GetParam().run))
      GTEST_SKIP() << "no cross tools";
  }
};

TEST_P(Cross, Matmul) {
  const MatmulShape s{.m = 16,
                      .n = 24,
                      .k = 20,
                      .tile_m = 8,
                      .tile_n = 12,
                      .lanes = 4,
                      .unroll = 4,
                      .outer = ForKind::Parallel};
  std::vector<float> a(16 * 20), b(20 * 24), c(16 * 24, -1), want(16 * 24);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  void* here[] = {a.data(), b.data(), want.data()};
  compile(matmul(s), host_target()).call(here);
  run_emulated(GetParam(), matmul(s),
               {{a.data(), a.size() * 4}, {b.data(), b.size() * 4}, {c.data(), c.size() * 4}});
  EXPECT_EQ(c, want);
}

/// Every function and every cast of f32; without those that truncate, if asked.
LoopFunc everything(int64_t n, int lanes, bool truncating = true) {
  const Buffer x = array("x", Elem::F32, n), y = array("y", Elem::F32, n);
  std::vector<Param> params{{x, Access::In}, {y, Access::In}};
  std::vector<Stmt> body;
  const Var i("i");
  const Expr at = lanes == 1 ? Expr(i) : ramp(Expr(i) * lanes, lanes);
  const Expr vx = load(x, {at}), vy = load(y, {at});
  const auto add = [&](const Expr& v) {
    const Buffer out = array("out", v.type().elem, n);
    params.push_back({out, Access::Out});
    body.push_back(store(out, at, v));
  };
  for (int fn = 0; fn < kMathFnCount; ++fn) {
    const auto f = static_cast<MathFn>(fn);
    if (!info(f).on_floats) continue;
    if (!truncating && (f == MathFn::Trunc || f == MathFn::Pow || f == MathFn::Fmod)) continue;
    std::vector<Expr> args{vx, vy, vy};
    args.resize(static_cast<size_t>(info(f).args));
    add(call(f, args));
  }
  for (const Elem to :
       {Elem::F16, Elem::BF16, Elem::F8E4M3, Elem::F8E5M2, Elem::F8E4M3FNUZ, Elem::F64, Elem::Bool})
    add(cast(to, vx));
  for (const Elem to : {Elem::I8, Elem::U8, Elem::I32, Elem::U32, Elem::I64, Elem::I4})
    if (truncating) add(cast(to, vx));
  for (const Elem via : {Elem::F16, Elem::BF16, Elem::F8E4M3})
    add(cast(Elem::F32, cast(via, vx) + cast(via, vy)));
  add(min(vx, vy));
  add(max(vx, broadcast(float_imm(Elem::F32, 0), lanes)));
  return final_func("everything", params, loop(i, n / lanes, seq(body)));
}

void check_everything(const Emulator& emulator, int lanes, bool truncating) {
  constexpr int64_t kN = 1024;
  const LoopFunc f = everything(kN, lanes, truncating);
  Array x(Elem::F32, kN), y(Elem::F32, kN);
  fill_pairs(x, y, 3);
  std::vector<Array> here, there;
  std::vector<void*> pointers{x.data(), y.data()};
  std::vector<std::pair<void*, size_t>> sized{{x.data(), kN * 4}, {y.data(), kN * 4}};
  for (size_t p = 2; p < f.params.size(); ++p) {
    here.emplace_back(f.params[p].buffer->elem, kN);
    there.emplace_back(f.params[p].buffer->elem, kN);
  }
  for (size_t p = 0; p < here.size(); ++p) {
    pointers.push_back(here[p].data());
    sized.emplace_back(there[p].data(), static_cast<size_t>(kN * bits(there[p].elem()) / 8));
  }
  compile(f, host_target()).call(pointers);
  run_emulated(emulator, f, sized);
  for (size_t p = 0; p < here.size(); ++p) {
    int reported = 0;
    for (int64_t i = 0; i < kN && reported < 2; ++i) {
      const bool equal = is_float(here[p].elem()) ? same(here[p].float_at(i), there[p].float_at(i))
                                                  : here[p].int_at(i) == there[p].int_at(i);
      // Formulas are the same, but scaling by 2^n may round subnormal results in another place.
      const double a = is_float(here[p].elem()) ? here[p].float_at(i) : 0;
      const double b = is_float(here[p].elem()) ? there[p].float_at(i) : 0;
      const bool close = std::fabs(a - b) <= 1.2e-7 * std::fabs(a) ||
                         (std::fabs(a) < 1e-37 && std::fabs(a - b) < 3e-45);
      if (equal || (is_float(here[p].elem()) && close)) continue;
      ++reported;
      ADD_FAILURE() << "output " << p << " (" << name(here[p].elem()) << ") of " << x.float_at(i)
                    << ", " << y.float_at(i) << ": " << std::hex << here[p].bits_at(i) << " here, "
                    << there[p].bits_at(i) << " there";
    }
  }
}

TEST_P(Cross, ScalarFunctionsAndCastsAgreeWithThisMachine) {
  check_everything(GetParam(), 1, true);
}

TEST_P(Cross, VectorFunctionsAndCastsAgreeWithThisMachine) {
  // qemu 7.2 aborts while it translates some places of vfcvt.rtz.
  check_everything(GetParam(), 8, std::string(GetParam().target) != "riscv64");
}

TEST_P(Cross, IntegerDivisionAndPackedStores) {
  constexpr int64_t kN = 256;
  const Buffer x = array("x", Elem::I32, kN), y = array("y", Elem::I32, kN),
               q = array("q", Elem::I32, kN), r = array("r", Elem::I32, kN),
               p = array("p", Elem::I4, kN);
  const Var i("i");
  const Expr at = ramp(Expr(i) * 4, 4);
  const Expr vx = load(x, {at}), vy = load(y, {at});
  const LoopFunc f = final_func(
      "divide",
      {{x, Access::In}, {y, Access::In}, {q, Access::Out}, {r, Access::Out}, {p, Access::Out}},
      loop(i, kN / 4,
           seq({store(q, at, vx / vy), store(r, at, vx % vy), store(p, at, cast(Elem::I4, vx))})));
  Array ax(Elem::I32, kN), ay(Elem::I32, kN), aq(Elem::I32, kN), ar(Elem::I32, kN),
      ap(Elem::I4, kN);
  fill_pairs(ax, ay, 4);
  run_emulated(GetParam(), f,
               {{ax.data(), kN * 4},
                {ay.data(), kN * 4},
                {aq.data(), kN * 4},
                {ar.data(), kN * 4},
                {ap.data(), kN / 2}});
  for (int64_t k = 0; k < kN; ++k) {
    ASSERT_EQ(aq.int_at(k), int_binary(BinaryOp::Div, Elem::I32, ax.int_at(k), ay.int_at(k)));
    ASSERT_EQ(ar.int_at(k), int_binary(BinaryOp::Mod, Elem::I32, ax.int_at(k), ay.int_at(k)));
    ASSERT_EQ(ap.int_at(k), wrap_int(Elem::I4, ax.int_at(k)));
  }
}

INSTANTIATE_TEST_SUITE_P(, Cross, testing::ValuesIn(kEmulators),
                         [](const auto& info) { return std::string(info.param.target); });

TEST(Targets, EveryTargetGivesAnObjectThatImportsNothing) {
  for (const std::string& name : target_names()) {
    SCOPED_TRACE(name);
    const TargetSpec spec = parse_target(name);
    const Kernel kernel = emit_object(everything(64, 8), spec);
    EXPECT_EQ(kernel.code.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_EQ(kernel.entry, "everything");
    EXPECT_EQ(kernel.needs, spec.isa);
    const std::string text = emit_assembly(everything(64, 8), spec);
    for (const char* call :
         {"expf", "logf", "fmaf", "fmodf", "__extendhfsf2", "__truncsfhf2", "__truncsfbf2"})
      EXPECT_EQ(text.find(call), std::string::npos) << call;
  }
}

TEST(Targets, NoSignOfAHalfIsTakenFromADouble) {
  const LoopFunc f =
      parse_function("loops f(x: in f16[1], y: out f16[1]) stage final { y[0] = tanh(cos(x[0])) }");
  for (const std::string& name : target_names()) {
    const std::string text = emit_assembly(f, parse_target(name));
    EXPECT_EQ(text.find("__truncdfhf2"), std::string::npos) << name;
  }
}

TEST(Targets, ASharedLibraryCanBeLoaded) {
  const Folder folder;
  const std::string path = (folder.path / "kernel.so").string();
  const MatmulShape s{.m = 4, .n = 8, .k = 3, .tile_m = 4, .tile_n = 8, .lanes = 8};
  const Kernel kernel = emit_object(matmul(s), host_target());
  link_shared_library({&kernel, 1}, path);
  void* library = dlopen(path.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto function = reinterpret_cast<tw_kernel>(dlsym(library, "matmul"));
  ASSERT_NE(function, nullptr);
  alignas(64) float a[12], b[24], c[32];
  std::fill(std::begin(a), std::end(a), 2.0f);
  std::fill(std::begin(b), std::end(b), 3.0f);
  void* buffers[] = {a, b, c};
  const tw_host host{nullptr, tw_serial_for, nullptr, nullptr, 0, 1};
  EXPECT_EQ(function(buffers, nullptr, &host), 0);
  EXPECT_EQ(c[31], 18);
  dlclose(library);
}

TEST(Targets, LinkingIntoAMissingFolderIsADiagnostic) {
  const Kernel kernel = emit_object(
      matmul({.m = 4, .n = 8, .k = 3, .tile_m = 4, .tile_n = 8, .lanes = 8}), host_target());
  try {
    link_shared_library({&kernel, 1}, "/nonexistent/folder/kernel.so");
    FAIL() << "linked";
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostic.code, "target.llvm.link");
    EXPECT_NE(e.diagnostic.message.find("/nonexistent/folder/kernel.so"), std::string::npos);
  }
}

}  // namespace
}  // namespace tilewright::target::llvm
