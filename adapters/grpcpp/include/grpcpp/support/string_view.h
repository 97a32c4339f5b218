// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/string_ref.h>  // IWYU pragma: export
