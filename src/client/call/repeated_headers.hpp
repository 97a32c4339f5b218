// repeated_headers: the headers of a connection's calls that are likely to recur: those that were sent,
// encoded, and those that were received, with what they mean.
#pragma once

#include "base/event_ring.hpp"
#include "coracle/compress/encoding.hpp"
#include "protocol/grpc/request_headers.hpp"
#include "protocol/grpc/response_headers.hpp"
#include "transport/connection.hpp"
#include "transport/exchange.hpp"
#include "transport/exchange_handler.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::client {

// Of a connection, which belongs to one channel, so that all of its requests have the same target. An idle
// connection has none.
class repeated_headers final : public transport::header_cache {
 public:
  // The first fields of a method's requests.
  struct sent_fields {
    std::string path;
    std::string subtype;
    encoding sent = encoding::identity;
    encoding_set accepted;
    hpack::encoded_fields encoded;
    const base::method_name* name = nullptr;  // of the path, in records

    [[nodiscard]] bool is_of(const protocol::grpc::request_fields& f) const noexcept {
      return path == f.path && subtype == f.subtype && sent == f.sent && accepted == f.accepted;
    }
    // Keeps the encoding of fields that were just added.
    void keep(const transport::exchange& to, const protocol::grpc::request_fields& f);
  };
  // A method has one place, which it may share with others. Returns null without memory, and for requests of
  // which nothing is kept.
  [[nodiscard]] static sent_fields* place_of(transport::exchange& to,
                                             const protocol::grpc::request_fields& f);

  // Returns what the response headers or trailers with this number mean, or null.
  [[nodiscard]] static const protocol::grpc::response_headers* find(transport::exchange& from,
                                                                    std::uint32_t number) noexcept {
    if (number == 0) return nullptr;
    const auto* const all = static_cast<repeated_headers*>(from.cached_headers().get());
    if (!all) return nullptr;
    const auto& one = all->received_[number % all->received_.size()];
    return one && one->number == number ? &one->headers : nullptr;
  }
  // Keeps headers that have just been read and have a number, if they have no metadata.
  static void keep(transport::exchange& from, std::uint32_t number,
                   const protocol::grpc::response_headers& headers);

 private:
  struct received_headers {
    std::uint32_t number = 0;  // of the header block
    protocol::grpc::response_headers headers;
  };
  [[nodiscard]] static repeated_headers* of(transport::exchange& x) noexcept;

  std::array<sent_fields, 8> sent_;
  std::array<std::unique_ptr<received_headers>, transport::numbered_blocks> received_;
};

}  // namespace coracle::client
