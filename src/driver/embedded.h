// SPDX-License-Identifier: Apache-2.0
// Files that the compiler carries inside of itself (cmake/Runtime.cmake puts them there), so that
// it finds them wherever it is installed.
#pragma once

extern "C" {
/// The whole runtime library as one object file for this machine's architecture.
extern const char tw_embedded_runtime_begin[], tw_embedded_runtime_end[];
/// Tuning records that ship with the compiler: shipped_records.jsonl.
extern const char tw_embedded_records_begin[], tw_embedded_records_end[];
/// include/tilewright/runtime.h and kernel.h.
extern const char tw_embedded_runtime_h_begin[], tw_embedded_runtime_h_end[];
extern const char tw_embedded_kernel_h_begin[], tw_embedded_kernel_h_end[];
}
