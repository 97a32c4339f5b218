// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/callback_common.h>  // IWYU pragma: export
