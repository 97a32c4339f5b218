// canned_client: the bytes that a gRPC client sends, encoded in advance, and a check of the replies.
#pragma once

#include "hpack/decoder.hpp"
#include "hpack/encoder.hpp"
#include "micro/canned_peer.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

// How the fields of the request headers are encoded in steady state. grpc: as gRPC's own clients do it, every
// field from the dynamic table. nghttp2: as h2load and curl do it, which put neither the path nor the length
// of the content into the table. deadlines: as grpc, and each call of a batch has a timeout of its own, as a
// literal. indexed_deadlines: the same, and each timeout is inserted into the table, as grpc-go, grpc-java
// and tonic do it. traces: as that one, with a traceparent of its own in each call.
enum class client_style : std::uint8_t { grpc, nghttp2, deadlines, indexed_deadlines, traces };

// Batches of unary echo calls on one connection. Only the stream ids differ from batch to batch.
class canned_client final : public canned_peer {
 public:
  canned_client(client_style style, std::size_t calls_per_batch, std::size_t name_bytes);

  // The preface, SETTINGS and the calls that fill the server's dynamic table.
  [[nodiscard]] coracle::bytes_view opening() const noexcept override { return opening_; }
  coracle::bytes_view next_batch() override;
  // False unless each call has its echo and grpc-status 0, or is rejected without a reply.
  [[nodiscard]] bool judge(coracle::bytes_view from_server) override;
  [[nodiscard]] std::size_t answered() const noexcept { return answered_; }
  // Those that ended with RESOURCE_EXHAUSTED.
  [[nodiscard]] std::size_t rejected() const noexcept { return rejected_; }
  // A request or reply message: they are the same bytes.
  [[nodiscard]] coracle::bytes_view message() const noexcept { return message_; }

 private:
  void add_call(octets& to, std::uint32_t id);
  void make_batch();
  [[nodiscard]] bool changes_table() const noexcept {
    return style_ == client_style::indexed_deadlines || style_ == client_style::traces;
  }
  [[nodiscard]] octets head();
  std::size_t heads_ = 0;

  client_style style_;
  std::size_t calls_;
  octets message_;
  octets opening_;
  octets batch_;
  std::vector<std::size_t> ids_at_;  // where stream ids stand in batch_
  std::uint32_t next_id_ = 1;
  std::size_t answered_ = 0;
  std::size_t rejected_ = 0;
  std::uint32_t echoed_ = 0;  // the stream whose DATA was right
  coracle::hpack::encoder encoder_;
  coracle::hpack::decoder decoder_;
};

}  // namespace bench
