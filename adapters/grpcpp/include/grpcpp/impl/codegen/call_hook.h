// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/call_hook.h>  // IWYU pragma: export
