// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while a model runs: Python hears of it between two of its own instructions only, which a
// model whose Loop never ends would not let it reach.
#pragma once

#include "tilewright/runtime.h"

namespace tilewright::python {

/// While this lives, Ctrl-C cancels the context's run, if it is the main thread's; Python's own
/// handler, or the user's, runs too.
class Interruptible {
 public:
  explicit Interruptible(tw_context* context);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  bool installed_ = false;
};

}  // namespace tilewright::python
