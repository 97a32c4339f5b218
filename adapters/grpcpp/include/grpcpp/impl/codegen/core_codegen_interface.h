// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/core_codegen.h>  // IWYU pragma: export
