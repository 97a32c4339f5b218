// request_head: what a request's head says, and who answers it.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/compress/encoding.hpp"
#include "coracle/compress/encoding_set.hpp"
#include "coracle/rpc/method.hpp"
#include "rpc/subtype.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace coracle::calls {

// A method of a service that a server has.
struct served_method {
  const coracle::method* what = nullptr;
  service* target = nullptr;
  bool request_in_arena = false;
};

struct request_head {
  enum class verb : std::uint8_t { other, get, head, post };
  enum class content : std::uint8_t { none, other, grpc };
  verb method = verb::other;
  content type = content::none;
  bool root_path = false;         // "/"
  bool bad_timeout = false;
  bool bad_metadata = false;      // a -bin value that is no base64
  bool unknown_encoding = false;
  encoding received = encoding::identity;  // grpc-encoding
  encoding_set accepted;      // grpc-accept-encoding
  const served_method* row = nullptr;
  const calls::subtype* subtype = nullptr;  // of content::grpc
  duration timeout = duration::max();
  // Texts of a request that no service of the server's knows:
  std::string foreign_path;     // when somebody wants to hear of it
  std::string foreign_subtype;  // of a gRPC content-type that is not known; for the fallback service
};

// What a call that goes to the fallback service owns; other calls refer to the tables of the router.
struct foreign_call {
  std::string path;
  std::optional<calls::subtype> form;  // one that the server does not know
};

}  // namespace coracle::calls
