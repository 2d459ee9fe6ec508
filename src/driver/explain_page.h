// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tilewright::driver {

extern const char* const kPageHead;
extern const char* const kPageTail;

}  // namespace tilewright::driver
