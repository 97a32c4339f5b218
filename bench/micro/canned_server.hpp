// canned_server: the replies of a gRPC server, encoded in advance, and a check of the requests.
#pragma once

#include "hpack/encoder.hpp"
#include "micro/canned_peer.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

// Replies to unary echo calls, as many at a time as the client makes. Its headers and trailers come from the
// dynamic table, as those of gRPC's own servers do.
class canned_server final : public canned_peer {
 public:
  canned_server(std::size_t calls_per_batch, std::size_t name_bytes);

  [[nodiscard]] coracle::bytes_view opening() const noexcept override { return opening_; }
  // Empty until all calls of a batch have arrived.
  coracle::bytes_view next_batch() override;
  // False unless each request has the message.
  [[nodiscard]] bool judge(coracle::bytes_view from_client) override;

 private:
  void add_reply(std::uint32_t id);

  std::size_t calls_;
  octets body_;
  octets opening_;
  octets batch_;
  std::vector<std::uint32_t> asked_;
  bool greeted_ = false;  // the client's preface has come
  coracle::hpack::encoder encoder_;
};

}  // namespace bench
