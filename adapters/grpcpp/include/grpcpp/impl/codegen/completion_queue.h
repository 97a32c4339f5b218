// The older or the internal name of another header.
#pragma once

#include <grpcpp/completion_queue.h>  // IWYU pragma: export
