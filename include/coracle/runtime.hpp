// The runtime on its own: loops, tasks, timers, sockets. For programs that use no RPC.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/coro/timeout.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/net/signal_watch.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"
