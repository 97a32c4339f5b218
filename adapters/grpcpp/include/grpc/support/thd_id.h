// gpr_thd_currentid(): a number of the thread, unique in the process.
#pragma once

#include <grpcpp/impl/one_library.h>

#include <cstdint>

typedef std::uintptr_t gpr_thd_id;
gpr_thd_id gpr_thd_currentid();
