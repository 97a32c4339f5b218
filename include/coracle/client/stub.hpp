// stub: the types that generated stubs use.
#pragma once

#include "coracle/base/version.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/channel_handle.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/client/unary_call.hpp"
