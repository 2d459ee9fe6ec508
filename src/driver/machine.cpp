// SPDX-License-Identifier: Apache-2.0
#include "driver/machine.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "driver/roofs.h"
#include "support/str.h"
#include "target/host.h"
#include "target/llvm/compile.h"

namespace tilewright::driver {
namespace {

using nlohmann::json;

constexpr int kFields = 7;

std::string bytes_of(const ir::Rates& r) {
  return json{r.load, r.half, r.latency, r.bytes[0], r.bytes[1], r.bytes[2], r.hertz}.dump();
}

/// Nothing when that is not what bytes_of has written.
std::optional<ir::Rates> rates_from(const std::string& bytes) {
  const json list = json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array() || list.size() != kFields) return std::nullopt;
  for (const json& n : list)
    if (!n.is_number() || !(n.get<double>() > 0) || !std::isfinite(n.get<double>()))
      return std::nullopt;
  const auto at = [&](size_t i) { return list[i].get<double>(); };
  return ir::Rates{.load = at(0),
                   .half = at(1),
                   .latency = at(2),
                   .bytes = {at(3), at(4), at(5)},
                   .hertz = at(6)};
}

}  // namespace

ir::TargetSpec target_with_rates(std::string_view name, const KernelCache& cache) {
  ir::TargetSpec out = target::parse_target(name);
  if (name != "host" || !cache.files().problem().empty()) return out;
  const std::string key = str("rates\n", target::llvm::code_generator(out), "\n", out.l1_bytes, " ",
                              out.l2_bytes, " ", out.l3_bytes, " ", out.cores);
  const std::optional<std::string> kept = cache.files().find(key);
  std::optional<ir::Rates> rates = kept ? rates_from(*kept) : std::nullopt;
  if (!rates) {
    rates = measure_rates();
    cache.files().put(key, bytes_of(*rates));
  }
  out.rates = *rates;
  return out;
}

}  // namespace tilewright::driver
