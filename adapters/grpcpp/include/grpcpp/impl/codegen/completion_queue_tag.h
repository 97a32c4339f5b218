// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/completion_queue_tag.h>  // IWYU pragma: export
