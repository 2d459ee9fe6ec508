// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/runner.h"

#include "support/diagnostic.h"

namespace tilewright::tune {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Ok: return "ok";
    case Verdict::Refused: return "refused";
    case Verdict::Wrong: return "wrong";
    case Verdict::Crashed: return "crashed";
    case Verdict::TimedOut: return "timed out";
    case Verdict::NoMemory: return "no memory";
    case Verdict::Forbidden: return "forbidden";
    case Verdict::Failed: return "failed";
  }
  throw InternalError("unknown verdict");
}

}  // namespace tilewright::tune
