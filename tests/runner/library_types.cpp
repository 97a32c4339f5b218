// The debug information of the library's types for hanging_call, as a library that was built with -g has it:
// `coracle channels` and `coracle connections` of gdb read them. The tests' library has none, and stays
// small.
#include "client/balancing/subchannel.hpp"
#include "client/call/call_setup.hpp"
#include "client/channel_state.hpp"
#include "client/shard.hpp"
#include "net/socket_duplex.hpp"
#include "rpc/channel_registry.hpp"
#include "runtime/runtime_core.hpp"
#include "server/server_registry.hpp"
#include "server/server_state.hpp"
#include "server/shard.hpp"
#include "transport/connection.hpp"

#include <memory>
#include <utility>

// Templates are described where they are used.
using namespace coracle;
static_assert(sizeof(std::pair<const void*, std::shared_ptr<runtime_internal::companion>>) != 0);
static_assert(sizeof(std::unique_ptr<client::subchannel>) != 0);
static_assert(sizeof(std::unique_ptr<net::duplex>) != 0);
static_assert(sizeof(std::unique_ptr<transport::connection>) != 0);
static_assert(sizeof(std::unique_ptr<const net::address>) != 0);
