// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/proto_buffer_writer.h>  // IWYU pragma: export
