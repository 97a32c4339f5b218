// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/serialization_traits.h>  // IWYU pragma: export
