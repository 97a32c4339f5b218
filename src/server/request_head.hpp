// request_head: what a request's head says, and who answers it.
#pragma once

#include "coracle/server/impl/method.hpp"
#include "protocol/grpc/request_headers.hpp"
#include "server/subtype.hpp"

#include <optional>
#include <string>

namespace coracle::server_internal {

// A method of a service that a server has.
struct served_method {
  const coracle::method* what = nullptr;
  service* target = nullptr;
  bool request_in_arena = false;
};

struct request_head : protocol::grpc::request_headers {
  const served_method* row = nullptr;
  const server_internal::subtype* subtype = nullptr;  // of content::grpc
};

// What a call that goes to the fallback service owns; other calls refer to the tables of the router.
struct foreign_call {
  std::string path;
  std::optional<subtype> form;  // one that the server does not know
};

}  // namespace coracle::server_internal
