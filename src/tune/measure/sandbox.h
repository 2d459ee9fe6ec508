// SPDX-License-Identifier: Apache-2.0
// What a process that runs unknown code may do: compute, in the memory that it is given.
#pragma once

#include <cstdint>

namespace tilewright::tune {

/// For a child after fork, once its threads are there: what it writes goes nowhere but to
/// file `keep`, every other one is closed, it dies with its parent, may use `memory_bytes` more
/// than it has, and from now on every system call but those for memory, time and threads that wait
/// fails. False, with errno, when the system refuses one of these.
bool enter_sandbox(int keep, int64_t memory_bytes);

/// From now on such a system call ends the process with SIGSYS.
bool end_on_violation();

}  // namespace tilewright::tune
