// The one place where the kernel's error numbers become a status with a text for people.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/net/address.hpp"

#include <cstdint>

namespace coracle::net {

// All take the -errno of a backend's result.

// A stream that broke while `doing` ("reading", "writing").
status stream_error(std::int64_t error, std::string_view doing);
// Why a datagram could not be sent or received; `about` says which.
status datagram_error(std::int64_t error, std::string_view about);
// A file at `path` that failed while `doing` ("opening", "reading").
status file_error(std::int64_t error, std::string_view doing, std::string_view path);
// Why there is no connection to `to`. UNAVAILABLE for all that time may mend.
status connect_error(std::int64_t error, const address& to);
// Why nobody can listen at `at`, with what to do about it.
status listen_error(std::int64_t error, const address& at);

}  // namespace coracle::net
