// repeated_requests: what the requests of a connection mean whose headers are likely to arrive again.
#pragma once

#include "protocol/grpc/request_headers.hpp"
#include "server/call/call_request.hpp"
#include "server/call/received_metadata.hpp"
#include "transport/connection.hpp"
#include "transport/exchange_handler.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace coracle::server_internal {

// Most calls of a client differ only in their messages and in the values of a few headers. The rest of their
// headers is interpreted once.
struct repeated_request {
  // Takes the timeout of these headers, if it is one of them. Returns false if it is malformed.
  bool take_timeout(std::span<const transport::varying_field> varying) noexcept;
  // Whether one of these headers is metadata.
  [[nodiscard]] static bool has_metadata(std::span<const transport::varying_field> varying) noexcept;
  // Adds the metadata to `out`, with the values of these headers in place of its own. Returns false if one of
  // them is not valid base64.
  bool copy_metadata(std::span<const transport::varying_field> varying, metadata& out) const;

  std::uint32_t number = 0;  // of its header block
  call_request request;
  std::string authority;  // if it is not that of the connection
  received_metadata received;
};

class repeated_requests final : public transport::header_cache {
 public:
  // Returns the request with this number, or null.
  [[nodiscard]] static repeated_request* find(transport::header_cache* all, std::uint32_t number) noexcept {
    if (number == 0 || !all) return nullptr;
    repeated_request* const one = static_cast<repeated_requests*>(all)->place_of(number).get();
    return one && one->number == number ? one : nullptr;
  }
  // Keeps a request whose headers have just been read and have a number, if they mean the same whatever the
  // values are that may differ between blocks with this number. Without memory it is not kept.
  static void keep(std::unique_ptr<transport::header_cache>& all, const transport::header_source& headers,
                   const call_request& request, const received_metadata& received);

 private:
  std::unique_ptr<repeated_request>& place_of(std::uint32_t number) noexcept {
    return requests_[number % transport::numbered_blocks];
  }

  std::array<std::unique_ptr<repeated_request>, transport::numbered_blocks> requests_;
};

inline bool repeated_request::take_timeout(std::span<const transport::varying_field> varying) noexcept {
  for (const transport::varying_field& f : varying) {
    if (f.name != protocol::grpc::timeout_header) continue;
    const std::optional<duration> timeout = protocol::grpc::parse_timeout(f.value);
    if (!timeout) return false;
    request.timeout = *timeout;
  }
  return true;
}

inline bool repeated_request::has_metadata(std::span<const transport::varying_field> varying) noexcept {
  for (const transport::varying_field& f : varying)
    if (f.name != protocol::grpc::timeout_header) return true;
  return false;
}

}  // namespace coracle::server_internal
