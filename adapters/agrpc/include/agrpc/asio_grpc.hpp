// asio_grpc: the API of asio-grpc, of versions 2 and 3, over the API of grpc++.
//
// Requires Boost 1.78 or standalone Asio 1.22, or newer: the one that was included before, or the one that
// AGRPC_STANDALONE_ASIO or AGRPC_BOOST_ASIO names.
//
// <agrpc/health_check_service.hpp>, and the headers of the callback API, are included separately. Stackful coroutines are
// there where Boost.Context and Boost.Coroutine are; a program that uses them links both.
//
// An operation whose completion handler has the executor of another execution context throws std::logic_error when it
// is started; started by a coroutine, that leaves the run() of the coroutine's context.
#pragma once

#include "agrpc/alarm.hpp"
#include "agrpc/bind_allocator.hpp"
#include "agrpc/cancel_safe.hpp"
#include "agrpc/client_rpc.hpp"
#include "agrpc/default_completion_token.hpp"
#include "agrpc/default_server_rpc_traits.hpp"
#include "agrpc/get_completion_queue.hpp"
#include "agrpc/grpc_context.hpp"
#include "agrpc/grpc_executor.hpp"
#include "agrpc/grpc_initiate.hpp"
#include "agrpc/grpc_stream.hpp"
#include "agrpc/notify_on_state_change.hpp"
#include "agrpc/notify_when_done.hpp"
#include "agrpc/read.hpp"
#include "agrpc/register_awaitable_rpc_handler.hpp"
#include "agrpc/register_callback_rpc_handler.hpp"
#include "agrpc/register_coroutine_rpc_handler.hpp"
#include "agrpc/repeatedly_request.hpp"
#include "agrpc/rpc.hpp"
#include "agrpc/rpc_type.hpp"
#include "agrpc/run.hpp"
#include "agrpc/server_rpc.hpp"
#include "agrpc/server_rpc_ptr.hpp"
#include "agrpc/test.hpp"
#include "agrpc/use_awaitable.hpp"
#include "agrpc/use_sender.hpp"
#include "agrpc/wait.hpp"
#include "agrpc/waiter.hpp"

#if defined(AGRPC_HAS_SENDERS)
#include "agrpc/register_sender_rpc_handler.hpp"
#endif
// Asio includes both for stackful coroutines.
#if __has_include(<boost/context/fiber.hpp>) && __has_include(<boost/coroutine/all.hpp>)
#include "agrpc/register_yield_rpc_handler.hpp"
#endif
