// The older or the internal name of another header.
#pragma once

#include <grpcpp/security/auth_context.h>  // IWYU pragma: export
