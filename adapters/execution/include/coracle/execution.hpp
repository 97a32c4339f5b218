// execution: calls, waits, tasks and loops as senders and schedulers of std::execution (P2300), and senders in
// our coroutines.
#pragma once

#include "coracle/execution/provider.hpp"
#include "coracle/execution/queries.hpp"
#include "coracle/execution/reply.hpp"
#include "coracle/execution/sender.hpp"
#include "coracle/execution/sender_awaiter.hpp"
#include "coracle/execution/std_stop_token.hpp"
