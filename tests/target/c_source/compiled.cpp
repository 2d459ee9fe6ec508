// SPDX-License-Identifier: Apache-2.0
#include "target/c_source/compiled.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "ir/scalar.h"
#include "tilewright/kernel.h"

namespace tilewright::target::c_source {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

constexpr const char* kFlags =
    "-std=c11 -O2 -Wall -Wextra -Werror -ffreestanding -ffp-contract=off -fPIC -shared -nostdlib";

/// Every worker takes the pieces of its number, the last ones first.
void parallel_for(void* context, int64_t count, tw_task task, void* closure) {
  const int workers = *static_cast<const int*>(context);
  constexpr int64_t kPiece = 2;
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w)
    threads.emplace_back([=] {
      for (int64_t piece = (count + kPiece - 1) / kPiece - 1; piece >= 0; --piece)
        if (piece % workers == w)
          task(closure, piece * kPiece, std::min(count, (piece + 1) * kPiece), w);
    });
  for (std::thread& t : threads) t.join();
}

/// Memory with a pattern behind it that nobody may touch.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    const size_t whole = (bytes + 2 * kGuard - 1) / kGuard * kGuard;
    data_ = static_cast<unsigned char*>(std::aligned_alloc(kGuard, whole));
    std::memset(data_, kPattern, whole);
    whole_ = whole;
  }
  ~Memory() { std::free(data_); }
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), whole_(other.whole_) {}
  unsigned char* data() const { return data_; }
  bool intact() const {
    for (size_t i = bytes_; i < whole_; ++i)
      if (data_[i] != kPattern) return false;
    return true;
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr unsigned char kPattern = 0xee;
  unsigned char* data_ = nullptr;
  size_t bytes_ = 0, whole_ = 0;
};

}  // namespace

void run_gcc(const std::string& arguments, const std::filesystem::path& folder) {
  const std::filesystem::path log = folder / "gcc.log";
  if (std::system(("gcc " + arguments + " 2>" + log.string()).c_str()) != 0)
    throw std::runtime_error("gcc " + arguments + "\n" + read(log).substr(0, 8000));
}

int64_t value_of(const ir::Expr& e, const std::vector<ir::Symbol>& symbols,
                 const std::vector<int64_t>& values) {
  if (const auto* imm = e.as<ir::IntImm>()) return imm->value;
  if (const auto* op = e.as<ir::Binary>())
    return ir::int_binary(op->op, ir::Elem::I64, value_of(op->a, symbols, values),
                          value_of(op->b, symbols, values));
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i].var == e) return values.at(i);
  throw std::logic_error("value_of: not an expression over symbols");
}

Compiled::Compiled(const std::vector<ir::LoopFunc>& funcs)
    : funcs_(funcs), file_(emit(funcs, {.numerics = Numerics::Ieee})) {
  std::string name = (std::filesystem::temp_directory_path() / "c_source_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
  const std::filesystem::path source = folder_ / "kernels.c", library = folder_ / "kernels.so";
  std::ofstream(source) << file_.text;
  run_gcc(std::string(kFlags) + " " + source.string() + " -o " + library.string(), folder_);
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
}

Compiled::~Compiled() {
  if (library_ != nullptr) dlclose(library_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Compiled::run(size_t i, std::vector<ir::Array>& args, const std::vector<int64_t>& symbols,
                   int workers) const {
  const File::Entry& entry = file_.entries.at(i);
  const auto kernel = reinterpret_cast<tw_kernel>(dlsym(library_, entry.name.c_str()));
  if (kernel == nullptr) throw std::runtime_error("no function " + entry.name);
  std::vector<Memory> memory;
  std::vector<void*> buffers;
  for (size_t k = 0; k < args.size(); ++k) {
    const std::vector<std::byte> bytes = ir::to_bytes(args[k]);
    memory.emplace_back(bytes.size());
    // An `out` array keeps its pattern: nothing may be read from it.
    if (funcs_[i].params[k].access != ir::Access::Out && !bytes.empty())
      std::memcpy(memory.back().data(), bytes.data(), bytes.size());
    buffers.push_back(memory.back().data());
  }
  const int64_t shared = value_of(entry.workspace.shared, funcs_[i].symbols, symbols);
  const int64_t scratch = value_of(entry.workspace.per_worker, funcs_[i].symbols, symbols);
  const Memory workspace(static_cast<size_t>(shared));
  const Memory scratches(static_cast<size_t>(scratch * workers));
  const tw_host host = {.context = &workers,
                        .parallel_for = parallel_for,
                        .workspace = shared ? workspace.data() : nullptr,
                        .scratch = scratch ? scratches.data() : nullptr,
                        .scratch_bytes = scratch,
                        .workers = workers};
  if (kernel(buffers.data(), symbols.data(), &host) != 0) throw std::runtime_error("not 0");
  if (!workspace.intact() || !scratches.intact()) throw std::runtime_error("workspace overrun");
  for (size_t k = 0; k < args.size(); ++k) {
    if (!memory[k].intact())
      throw std::runtime_error("overrun of " + funcs_[i].params[k].buffer->name);
    const size_t bytes = ir::to_bytes(args[k]).size();
    args[k] = ir::from_bytes(args[k].elem, args[k].shape,
                             {reinterpret_cast<const std::byte*>(memory[k].data()), bytes});
  }
}

std::vector<std::string> Compiled::imports() const {
  const std::filesystem::path list = folder_ / "imports";
  const std::string command =
      "nm -D --undefined-only " + (folder_ / "kernels.so").string() + " >" + list.string();
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
  std::istringstream words(read(list));
  std::vector<std::string> names;
  for (std::string kind, name; words >> kind >> name;) names.push_back(name);
  return names;
}

}  // namespace tilewright::target::c_source
