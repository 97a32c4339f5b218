// bind_allocator: a completion token with an allocator.
#pragma once

#include "agrpc/impl/library.hpp"

#if CORACLE_ASIO_VERSION >= 102300
#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/bind_allocator.hpp>
#else
#include <boost/asio/bind_allocator.hpp>
#endif

namespace agrpc::inline CORACLE_ASIO {

/// Asio's own.
using asio::bind_allocator;

}  // namespace agrpc::inline CORACLE_ASIO
#endif
