// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/server_callback_handlers.h>  // IWYU pragma: export
