// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/call_op_set_interface.h>  // IWYU pragma: export
