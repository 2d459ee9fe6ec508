// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_cache.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/build_id.h"
#include "support/str.h"
#include "target/host.h"

namespace tilewright::driver {
namespace {

using nlohmann::json;

/// The kernel's symbols have made-up names here, for two may have the same one.
std::vector<ir::Var> numbered(size_t count) {
  std::vector<ir::Var> out;
  for (size_t i = 0; i < count; ++i) out.emplace_back(str("s", i));
  return out;
}

json encode(const target::Kernel& kernel, const std::vector<ir::Symbol>& symbols) {
  const std::vector<ir::Var> vars = numbered(symbols.size());
  ir::VarMap names;
  for (size_t i = 0; i < symbols.size(); ++i) names[symbols[i].var] = vars[i];
  const auto text = [&](const ir::Expr& e) { return ir::print(ir::substitute(e, names)); };
  return {{"entry", kernel.entry},
          {"code", json::binary({kernel.code.begin(), kernel.code.end()})},
          {"triple", kernel.triple},
          {"needs", kernel.needs.bits},
          {"numerics", kernel.numerics},
          {"shared", text(kernel.workspace.shared)},
          {"per_worker", text(kernel.workspace.per_worker)}};
}

target::Kernel decode(const json& from, const std::vector<ir::Var>& vars) {
  ir::Environment names;
  names.vars = vars;
  const auto expr = [&](const char* field) {
    return ir::parse_expr(from.at(field).get<std::string>(), names);
  };
  const json::binary_t& code = from.at("code").get_binary();
  target::Kernel out{.entry = from.at("entry"),
                     .code = std::string(code.begin(), code.end()),
                     .triple = from.at("triple"),
                     .needs = {},
                     .numerics = from.at("numerics"),
                     .workspace = {expr("shared"), expr("per_worker")}};
  out.needs.bits = from.at("needs");
  return out;
}

json encode(const ReadyKernel& r) {
  json out{{"plain", r.kernel.plain},
           {"symbols", r.kernel.func.symbols.size()},
           {"code", encode(r.kernel.code, r.kernel.func.symbols)},
           {"taken", r.taken},
           {"prepared", r.prepared},
           {"packed", r.packed},
           {"params", json::array()}};
  for (const ir::Param& p : r.kernel.func.params) out["params"].push_back(p.access);
  if (r.prepare) out["prepare"] = encode(r.prepare->kernel(), {});
  return out;
}

ReadyKernel decode(const json& from) {
  ReadyKernel out;
  out.kernel.plain = from.at("plain");
  const std::vector<ir::Var> vars = numbered(from.at("symbols"));
  for (const ir::Var& var : vars) out.kernel.func.symbols.push_back({.var = var});
  out.kernel.code = decode(from.at("code"), vars);
  out.kernel.func.name = out.kernel.code.entry;
  out.kernel.func.stage = ir::Stage::Final;
  for (const json& access : from.at("params"))
    out.kernel.func.params.push_back({{}, access.get<ir::Access>()});
  out.taken = from.at("taken").get<std::vector<size_t>>();
  out.prepared = from.at("prepared").get<std::vector<size_t>>();
  out.packed = from.at("packed").get<decltype(out.packed)>();
  if (from.contains("prepare")) out.prepare = target::llvm::load(decode(from["prepare"], {}), {});
  return out;
}

std::string bytes_of(const json& value) {
  std::string out;
  json::to_cbor(value, out);
  return out;
}

/// `read` of the entry. One of another form than ours is as none: it is made and written again.
template <class Read>
auto read_entry(const DiskCache& files, const std::string& key, Read&& read)
    -> std::optional<decltype(read(json()))> {
  const std::optional<std::string> bytes = files.find(key);
  if (!bytes) return {};
  try {
    return read(json::from_cbor(*bytes));
  } catch (const std::exception&) {
    return {};
  }
}

std::string text_of(const ir::Rates& r) {
  return str(r.load, " ", r.half, " ", r.latency, " ", r.bytes[0], " ", r.bytes[1], " ", r.bytes[2],
             " ", r.hertz);
}

std::string text_of(const ir::TargetSpec& t) {
  std::string out = str(t.triple, "|", t.cpu, "|", t.features, "|", t.isa.bits, "|", t.vector_bits,
                        "|", t.vector_registers, "|", t.mask_registers, "|", t.l1_bytes, "|",
                        t.l2_bytes, "|", t.l3_bytes, "|", t.cores, "|", text_of(t.rates), "\n",
                        target::llvm::code_generator(t), "\n");
  for (const ir::Instruction& i : t.instructions) out += ir::print(i);
  return out;
}

}  // namespace

KernelCache::KernelCache(std::filesystem::path folder, int64_t limit)
    : files_(std::move(folder), limit) {}

std::filesystem::path KernelCache::default_folder() {
  const auto folder = [](const char* name) {
    const char* value = std::getenv(name);
    return std::filesystem::path(value ? value : "");
  };
  if (const auto own = folder("TILEWRIGHT_CACHE"); !own.empty()) return own;
  if (const auto xdg = folder("XDG_CACHE_HOME"); xdg.is_absolute()) return xdg / "tilewright";
  const auto home = folder("HOME");
  return home.empty() ? home : home / ".cache" / "tilewright";
}

std::optional<ReadyKernel> KernelCache::find(const std::string& key) const {
  return read_entry(files_, key, [](const json& from) { return decode(from); });
}

void KernelCache::put(const std::string& key, const ReadyKernel& kernel) const {
  files_.put(key, bytes_of(encode(kernel)));
}

std::optional<target::llvm::JitKernel> KernelCache::find_jit(const std::string& key) const {
  return read_entry(files_, key,
                    [](const json& from) { return target::llvm::load(decode(from, {}), {}); });
}

void KernelCache::put_jit(const std::string& key, const target::llvm::JitKernel& kernel) const {
  files_.put(key, bytes_of(encode(kernel.kernel(), {})));
}

std::string key_prefix(const ir::TargetSpec& target, const target::EmitOptions& emit) {
  const std::string compiler = build_id(reinterpret_cast<const void*>(&key_prefix));
  if (compiler.empty()) return {};
  return str(compiler, "\n", text_of(target), text_of(target::host_target()), name(emit.numerics),
             emit.subnormals, "\n");
}

}  // namespace tilewright::driver
