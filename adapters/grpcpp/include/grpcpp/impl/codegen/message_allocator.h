// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/message_allocator.h>  // IWYU pragma: export
