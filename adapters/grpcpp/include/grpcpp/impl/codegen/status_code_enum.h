// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/status_code_enum.h>  // IWYU pragma: export
