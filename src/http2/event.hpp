// event: what the engine reports after a feed(), one event at a time.
#pragma once

#include "base/slab.hpp"
#include "coracle/base/bytes.hpp"
#include "http2/error_code.hpp"

#include <cstdint>
#include <string_view>

namespace coracle::http2 {

using stream_id = std::uint32_t;
struct stream;
// Identifies a stream of one connection, from its first event or open() until release(). A copy that is used
// later refers to no stream.
using stream_ref = base::slab_ref<stream>;
inline const stream_ref no_stream{};

// Borrows the fed bytes (or the engine's assembly buffer) until the next call of next().
struct event {
  enum class kind : std::uint8_t {
    // All bytes fed have been processed.
    none,
    // A header block; read its fields with next_field(). On a server's new stream `user` is null.
    // `informational` is set for 1xx; `trailers` for a block that follows the first one and ends the stream.
    headers,
    // A piece of a DATA frame, without padding; may be empty with end_stream.
    data,
    // The stream ended abnormally: `code`, `by`, and `unprocessed` if the peer certainly did not process it.
    // The last event of its stream.
    reset,
    // Requested by want_writable(): the stream's queue has drained. May follow the stream's last frame.
    writable,
    // The peer's first SETTINGS have arrived and been applied.
    settings,
    // Client: open() may succeed again.
    slots,
    // The peer sent GOAWAY: `code`, and its debug data in `data`. The reset events of streams above its last
    // id follow.
    goaway,
    // Server: the peer's first bytes are not HTTP/2's preface, and nothing has been sent to it. connection::
    // preface_bytes() of the preface and `data` are what has arrived. The last event.
    no_preface,
    // Connection error (`code`, `reason`): GOAWAY is in the output; send it and close. The last event; all
    // open streams have had their reset events. There is no GOAWAY after a bad preface and after feed_end().
    failed,
  };
  kind type = kind::none;
  bool end_stream = false;
  bool trailers = false;
  bool informational = false;
  // reset: the request may be retried, because it was never sent, or GOAWAY's last id or REFUSED_STREAM says
  // so.
  bool unprocessed = false;
  // reset: the stream ended because the connection failed.
  bool with_connection = false;
  initiator by = initiator::peer;
  error_code code = error_code::no_error;
  stream_ref stream = no_stream;
  stream_id id = 0;
  void* user = nullptr;
  bytes_view data{};
  std::string_view reason{};  // for logs; valid as long as the connection
};

// One header field of a headers event. The views are valid until the next next_field().
struct field {
  std::string_view name;
  std::string_view value;
  // The slot that set_slot() stored for this table entry or literal, initially 0 (decision 0012). For a field
  // in HPACK's static table: header_reader::static_slot().
  std::uint32_t slot = 0;
  bool never_index = false;
};

// What follows the headers of a response that has arrived in full.
struct response_rest {
  bytes_view data;  // of one DATA frame, borrowed from feed()
  bytes_view trailers;  // their block
  std::uint32_t number = 0;  // header_block_number() of the trailers
};

// A server's response in one piece: two blocks from hpack's stateless functions, and a message between them.
struct unary_response {
  bytes_view head;
  std::size_t message_bytes = 0;
  bytes_view trailers;
};

}  // namespace coracle::http2
