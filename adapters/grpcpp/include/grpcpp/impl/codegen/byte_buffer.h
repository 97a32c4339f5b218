// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/byte_buffer.h>  // IWYU pragma: export
