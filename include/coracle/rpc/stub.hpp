// What generated stubs are made of.
#pragma once

#include "coracle/base/version.hpp"
#include "coracle/rpc/call_channel.hpp"
#include "coracle/rpc/call_options.hpp"
#include "coracle/rpc/client_stream.hpp"
#include "coracle/rpc/unary_call.hpp"
