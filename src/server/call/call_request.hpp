// call_request: what a call needs of its request.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/compress/encoding.hpp"

#include <string_view>

namespace coracle::server_internal {

struct served_method;
struct subtype;

// The same for every protocol, without how HTTP carried the request. Borrows from the
// request_info, and from the connection's authority.
struct call_request {
  const served_method* row = nullptr;  // null: the server has no such method
  const server_internal::subtype* subtype = nullptr;
  duration timeout = duration::max();
  encoding received = encoding::identity;  // of its messages
  encoding_set accepted;  // for the replies
  bool unknown_encoding = false;  // refused, with the encodings that the server accepts
  std::string_view connection_authority;
  std::string_view other_authority;  // not empty: in place of that of the connection
};

}  // namespace coracle::server_internal
