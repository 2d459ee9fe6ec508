// SPDX-License-Identifier: Apache-2.0
#include "tune/records/record.h"

#include <cstring>

#include "support/sha256.h"

namespace tilewright::tune {

std::string Record::identity() const {
  std::string all;
  const auto number = [&](auto value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    all.append(bytes, sizeof value);
  };
  const auto text = [&](const std::string& s) {
    number(uint64_t{s.size()});
    all += s;
  };
  for (const std::string* s :
       {&workload, &target, &trace, &point, &measurement.error, &config, &compiler})
    text(*s);
  number(static_cast<int64_t>(measurement.verdict));
  number(int64_t{threads});
  number(time);
  for (const double s : measurement.seconds) number(s);
  for (const Estimate& e : {measurement.time, measurement.ratio})
    for (const double x : {e.median, e.low, e.high}) number(x);
  return sha256(all);
}

}  // namespace tilewright::tune
