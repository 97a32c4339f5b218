// The older or the internal name of another header.
#pragma once

#include <grpcpp/generic/generic_stub_callback.h>  // IWYU pragma: export
