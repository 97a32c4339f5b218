// log_entry: writes messages of grpc.binarylog.v1 in protobuf's wire format.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/connection_snapshot.hpp"
#include "coracle/rpc/metadata.hpp"
#include "telemetry/binary_log/filter.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

// The values of GrpcLogEntry.EventType and GrpcLogEntry.Logger.
enum class log_event : std::uint8_t {
  client_header = 1,
  server_header = 2,
  client_message = 3,
  server_message = 4,
  client_half_close = 5,
  server_trailer = 6,
  cancel = 7,
};
enum class log_side : std::uint8_t { client = 1, server = 2 };

// One GrpcLogEntry. Write its fields in any order; numbered() ends it. Written by hand: these messages are
// few, and a generated copy of them would have to stand beside grpc's own in one program
// (docs/decisions/0005).
class log_entry {
 public:
  log_entry(log_event type, log_side by, std::uint64_t call_id, wall_time when);

  // limits: of this call. `timeout`: duration::max() if there is none.
  void client_header(const metadata& m, std::string_view method, std::string_view authority, duration timeout,
                     const log_limits& limits);
  void server_header(const metadata& m, const log_limits& limits);
  void message(bytes_view bytes, const log_limits& limits);
  void trailer(const metadata& m, const status& outcome, const log_limits& limits);
  void peer(const net::address& from);

  // Returns the message, as the entry of its call that has this number; the first is 1.
  [[nodiscard]] std::string&& numbered(std::uint64_t sequence_id);

 private:
  // Returns the message Metadata; sets the flag of this entry if it lacks some.
  [[nodiscard]] std::string metadata_of(const metadata& m, const log_limits& limits);
  void truncated();

  std::string text_;
  bool truncated_ = false;
};

}  // namespace coracle::telemetry_internal
