// high_level_client: the header of version 2 that has RPC, a client's.
#pragma once

#include "agrpc/rpc.hpp"
