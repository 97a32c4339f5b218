// library: which Asio the adapter is made for, and the namespaces that all of its headers use.
#pragma once

// The macros that asio-grpc's targets define choose, as CORACLE_STANDALONE_ASIO does.
#if defined(AGRPC_STANDALONE_ASIO) && !defined(CORACLE_STANDALONE_ASIO)
#define CORACLE_STANDALONE_ASIO
#endif
#if defined(AGRPC_UNIFEX) || defined(AGRPC_STDEXEC)
#error "coracle::agrpc requires Asio; its senders are those of std::execution or stdexec, beside Asio"
#endif

#include "coracle/asio/completion.hpp"
#include "coracle/asio/library.hpp"

namespace agrpc::inline CORACLE_ASIO {

namespace asio = ::coracle::asio_internal::asio;

namespace internal {

using ::coracle::asio_internal::error_code;

}  // namespace internal
}  // namespace agrpc::inline CORACLE_ASIO
