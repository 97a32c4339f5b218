// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/channel_interface.h>  // IWYU pragma: export
