// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/config_protobuf.h>  // IWYU pragma: export
