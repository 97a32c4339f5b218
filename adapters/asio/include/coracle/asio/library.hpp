// library: which Asio the adapter is made for.
#pragma once

// The one that was included before. If neither was: Boost.Asio where it is installed, else standalone Asio. If
// both were, define CORACLE_STANDALONE_ASIO for the standalone one. Two translation units of a program may use
// different ones: the entities of the adapter are in an inline namespace of either.
#if !defined(CORACLE_STANDALONE_ASIO)
#if defined(ASIO_VERSION) && !defined(BOOST_ASIO_VERSION)
#define CORACLE_STANDALONE_ASIO
#elif !__has_include(<boost/asio/version.hpp>)
#define CORACLE_STANDALONE_ASIO
#endif
#endif

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/recycling_allocator.hpp>
#include <asio/system_error.hpp>
#include <asio/version.hpp>
#define CORACLE_ASIO with_standalone_asio
#define CORACLE_ASIO_VERSION ASIO_VERSION
#if !defined(ASIO_NO_TS_EXECUTORS)
#define CORACLE_ASIO_TS_EXECUTORS
#endif
#else
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/version.hpp>
#include <boost/system/system_error.hpp>
#define CORACLE_ASIO with_boost_asio
#define CORACLE_ASIO_VERSION BOOST_ASIO_VERSION
#if !defined(BOOST_ASIO_NO_TS_EXECUTORS)
#define CORACLE_ASIO_TS_EXECUTORS
#endif
#endif

#if CORACLE_ASIO_VERSION < 102200
#error "coracle/asio.hpp requires Asio 1.22, or Boost 1.78, or a newer one"
#endif

// The names of the Asio that was chosen.
namespace coracle::inline CORACLE_ASIO::asio_internal {

#if defined(CORACLE_STANDALONE_ASIO)
namespace asio = ::asio;
using error_code = std::error_code;
using system_error = std::system_error;
#else
namespace asio = ::boost::asio;
using error_code = ::boost::system::error_code;
using system_error = ::boost::system::system_error;
#endif

}  // namespace coracle::inline CORACLE_ASIO::asio_internal
