// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/method_handler.h>  // IWYU pragma: export
