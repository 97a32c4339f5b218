// The older or the internal name of another header.
#pragma once

#include <grpc/byte_buffer_reader.h>  // IWYU pragma: export
