// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/delegating_channel.h>  // IWYU pragma: export
