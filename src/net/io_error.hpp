// io_error: maps the kernel's error numbers to statuses with a readable message; the only place that does.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/net/address.hpp"

#include <cstdint>

namespace coracle::net {

// All functions take the -errno of a backend's result.

// A stream that broke while `doing` ("reading", "writing").
status stream_error(std::int64_t error, std::string_view doing);
// A datagram that could not be sent or received; `about` says which.
status datagram_error(std::int64_t error, std::string_view about);
// A file at `path` that failed while `doing` ("opening", "reading").
status file_error(std::int64_t error, std::string_view doing, std::string_view path);
// A connection to `to` that failed. UNAVAILABLE for all errors that may be temporary.
status connect_error(std::int64_t error, const address& to);
// A local address that a connection cannot be bound to, with a message that suggests a fix.
status bind_error(std::int64_t error, const address& local);
// An address `at` that cannot be listened on, with a message that suggests a fix.
status listen_error(std::int64_t error, const address& at);

}  // namespace coracle::net
