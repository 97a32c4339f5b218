// channel: connects a client to the servers of a target; a handle that stubs keep.
#pragma once

#include "coracle/client/channel_handle.hpp"
#include "coracle/client/channel_options.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/transport/impl/connector.hpp"
