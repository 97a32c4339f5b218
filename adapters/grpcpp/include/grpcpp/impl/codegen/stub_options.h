// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/stub_options.h>  // IWYU pragma: export
