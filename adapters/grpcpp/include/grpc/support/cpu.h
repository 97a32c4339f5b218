// The cores of the machine.
#pragma once

#include <grpcpp/impl/one_library.h>

/// Returns their number, at least 1.
unsigned gpr_cpu_num_cores();
/// Returns the one that runs the thread, less than their number.
unsigned gpr_cpu_current_cpu();
