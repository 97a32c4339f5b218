// rpc: RPCs by functions over the responders of grpc++, as in version 2 of asio-grpc.
#pragma once

#include "agrpc/impl/free_functions.hpp"
#include "agrpc/notify_when_done.hpp"
#include "agrpc/read.hpp"
