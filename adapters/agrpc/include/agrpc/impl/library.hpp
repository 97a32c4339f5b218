// library: which Asio the adapter is made for, and the namespaces that all of its headers use.
#pragma once

// The macros that asio-grpc's targets define choose, as CORACLE_STANDALONE_ASIO does.
#if defined(AGRPC_STANDALONE_ASIO) && !defined(CORACLE_STANDALONE_ASIO)
#define CORACLE_STANDALONE_ASIO
#endif
#if defined(AGRPC_UNIFEX) || \
    (defined(AGRPC_STDEXEC) && !defined(AGRPC_STANDALONE_ASIO) && !defined(AGRPC_BOOST_ASIO))
#error \
    "coracle::agrpc requires Asio, and its senders are those of std::execution or stdexec: beside AGRPC_STDEXEC, define AGRPC_BOOST_ASIO or AGRPC_STANDALONE_ASIO"
#endif

#include "coracle/asio/completion.hpp"
#include "coracle/asio/library.hpp"

// What these headers use of Asio, and what programs get along with each header of asio-grpc. Headers that need Boost's
// coroutines or an operating system are not among them.
#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/execution/allocator.hpp>
#include <asio/execution/blocking.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution/mapping.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/execution/relationship.hpp>
#include <asio/io_context.hpp>
#include <asio/query.hpp>
#include <asio/system_executor.hpp>
#include <asio/use_awaitable.hpp>
#else
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/mapping.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution/relationship.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>
#endif

namespace agrpc::inline CORACLE_ASIO {

namespace asio = ::coracle::asio_internal::asio;

namespace internal {

using ::coracle::asio_internal::error_code;

}  // namespace internal
}  // namespace agrpc::inline CORACLE_ASIO
