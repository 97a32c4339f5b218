// bind_allocator: a completion token with an allocator.
#pragma once

#include "agrpc/impl/library.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/bind_allocator.hpp>
#else
#include <boost/asio/bind_allocator.hpp>
#endif

namespace agrpc::inline CORACLE_ASIO {

/// Asio's own: `bind_allocator(allocator, token)`.
using asio::bind_allocator;
template <class Target, class Allocator>
using AllocatorBinder = asio::allocator_binder<Target, Allocator>;

}  // namespace agrpc::inline CORACLE_ASIO
