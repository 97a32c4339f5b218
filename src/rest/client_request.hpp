// client_request: writes a request message as path, query and body of an HTTP request, and reads the reply:
// the reverse of rest_binding::read_request() and write_reply().
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "rest/rest_binding.hpp"

#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace coracle::rest {

struct client_request {
  std::string method;        // "GET"
  std::string target;        // path and query, with escapes
  std::string content_type;  // empty without a body
  std::string body;
};

// Writes the fields that variables of the path name into the path, the field of `body` (or, for "*", all
// others) into the body, and what is left and has a value into the query. The status is INVALID_ARGUMENT and
// names the field: its value does not match the template, or it has no form for a query (maps, messages that
// are repeated).
[[nodiscard]] result<client_request> write_client_request(const rest_binding& binding,
                                                          const google::protobuf::Message& request);

// Reads the body of a response. Unknown fields in JSON are ignored: the server may be newer. The status is
// INTERNAL and says what is wrong.
[[nodiscard]] status read_client_reply(const rest_binding& binding, std::string_view content_type,
                                       bytes_view body, google::protobuf::Message& reply);

}  // namespace coracle::rest
