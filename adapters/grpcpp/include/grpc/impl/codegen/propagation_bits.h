// The older or the internal name of another header.
#pragma once

#include <grpc/impl/propagation_bits.h>  // IWYU pragma: export
