// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/sync_stream.h>  // IWYU pragma: export
