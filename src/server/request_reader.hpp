// request_reader: what a request's head says, read in one pass over its fields.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/rpc/metadata.hpp"
#include "rpc/accepted_encodings.hpp"
#include "server/router.hpp"
#include "transport/exchange_handler.hpp"

#include <cstdint>
#include <string>

namespace coracle::serving {

// Texts of a request that no service of the server's knows.
struct foreign_request {
  std::string path;     // when somebody wants to hear of it
  std::string subtype;  // of a gRPC content-type that is not known; for the fallback service
};

struct request_summary {
  enum class verb : std::uint8_t { other, get, head, post };
  enum class content : std::uint8_t { none, other, grpc };
  verb method = verb::other;
  content type = content::none;
  const router::row* row = nullptr;
  const calls::subtype* subtype = nullptr;  // of content::grpc
  bool root_path = false;         // "/"
  bool bad_timeout = false;
  bool bad_metadata = false;      // a -bin value that is no base64
  bool unknown_encoding = false;
  encoding received = encoding::identity;  // grpc-encoding
  encoding_set accepted;      // grpc-accept-encoding
  duration timeout = duration::max();
  foreign_request foreign;
};

// Most fields of most requests repeat from call to call. What one means is left as a number with
// the HPACK table's entry (header_source::set_slot), and the next time no text is looked at.
// False when the head breaks HTTP/2's rules.
bool read_request(transport::header_source& fields, const router& routes, request_summary& out,
                  metadata& received);

}  // namespace coracle::serving
