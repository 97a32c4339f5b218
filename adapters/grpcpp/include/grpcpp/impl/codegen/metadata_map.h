// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/metadata_map.h>  // IWYU pragma: export
