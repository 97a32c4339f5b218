// Calls, streams, timers and tasks as asynchronous operations of Asio, and Coracle's loops in Asio's threads.
//
// Requires Boost 1.78 or standalone Asio 1.22, or newer. <coracle/asio/yield.hpp>, for stackful coroutines, and
// <coracle/asio/tokens.hpp>, for names that have moved between versions, are included separately.
#pragma once

#include "coracle/asio/async_wait.hpp"
#include "coracle/asio/driver.hpp"
#include "coracle/asio/library.hpp"
#include "coracle/asio/loop_context.hpp"
#include "coracle/asio/on_executor.hpp"
#include "coracle/asio/use_task.hpp"
