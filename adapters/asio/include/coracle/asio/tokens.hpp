// tokens: completion tokens of Asio whose place depends on its version.
#pragma once

#include "coracle/asio/library.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#if CORACLE_ASIO_VERSION < 102400
#include <asio/experimental/append.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/experimental/prepend.hpp>
#include <asio/experimental/promise.hpp>
#else
#include <asio/append.hpp>
#include <asio/as_tuple.hpp>
#include <asio/consign.hpp>
#include <asio/deferred.hpp>
#include <asio/experimental/promise.hpp>
#include <asio/experimental/use_promise.hpp>
#include <asio/prepend.hpp>
#endif
#if CORACLE_ASIO_VERSION >= 102600
#include <asio/any_completion_handler.hpp>
#endif
#else
#if CORACLE_ASIO_VERSION < 102400
#include <boost/asio/experimental/append.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/experimental/deferred.hpp>
#include <boost/asio/experimental/prepend.hpp>
#include <boost/asio/experimental/promise.hpp>
#else
#include <boost/asio/append.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/consign.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/promise.hpp>
#include <boost/asio/experimental/use_promise.hpp>
#include <boost/asio/prepend.hpp>
#endif
#if CORACLE_ASIO_VERSION >= 102600
#include <boost/asio/any_completion_handler.hpp>
#endif
#endif

#include <optional>

namespace coracle::inline CORACLE_ASIO {

/// The tokens under one name each, for code that is compiled with several versions of Asio: `append`,
/// `as_tuple`, `deferred`, `prepend` and `use_promise`; from Asio 1.24 (Boost 1.80) on `consign`, and from
/// 1.26 (Boost 1.81) on `any_completion_handler`.
namespace asio_tokens {

using asio_internal::asio::experimental::use_promise;
#if CORACLE_ASIO_VERSION < 102400
using asio_internal::asio::experimental::append;
using asio_internal::asio::experimental::as_tuple;
using asio_internal::asio::experimental::deferred;
using asio_internal::asio::experimental::prepend;
#else
using asio_internal::asio::append;
using asio_internal::asio::as_tuple;
using asio_internal::asio::consign;
using asio_internal::asio::deferred;
using asio_internal::asio::prepend;
#endif
#if CORACLE_ASIO_VERSION >= 102600
using asio_internal::asio::any_completion_handler;
#endif

}  // namespace asio_tokens
}  // namespace coracle::inline CORACLE_ASIO

#if CORACLE_ASIO_VERSION >= 102400

namespace coracle::inline CORACLE_ASIO::asio_internal {

// What a promise of that Asio is given: it requires a default constructor, and moves the same value twice if it
// is awaited before the operation has ended.
template <class T>
class promised : public std::optional<T> {
 public:
  using std::optional<T>::optional;
  promised() = default;
  promised(const promised&) = default;  // no move constructor: a move is a copy
  promised& operator=(const promised&) = default;
};

}  // namespace coracle::inline CORACLE_ASIO::asio_internal

#if defined(CORACLE_STANDALONE_ASIO)
namespace asio {
#else
namespace boost::asio {
#endif
template <class Allocator, class T>
class async_result<experimental::use_promise_t<Allocator>, void(coracle::result<T>)>
    : public async_result<experimental::use_promise_t<Allocator>,
                          void(coracle::asio_internal::promised<coracle::result<T>>)> {};
template <class Allocator>
class async_result<experimental::use_promise_t<Allocator>, void(coracle::status)>
    : public async_result<experimental::use_promise_t<Allocator>,
                          void(coracle::asio_internal::promised<coracle::status>)> {};
#if defined(CORACLE_STANDALONE_ASIO)
}  // namespace asio
#else
}  // namespace boost::asio
#endif

#endif
