// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/sync.h>  // IWYU pragma: export
