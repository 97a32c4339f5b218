// event: what the engine has to tell after a feed(), one at a time.
#pragma once

#include "base/slab.hpp"
#include "coracle/base/bytes.hpp"
#include "http2/error_code.hpp"

#include <cstdint>
#include <string_view>

namespace coracle::http2 {

using stream_id = std::uint32_t;
struct stream;
// Names a stream of one connection, from its first event or open() until release(). A copy that is used later finds
// no stream.
using stream_ref = base::slab_ref<stream>;
inline const stream_ref no_stream{};

// Borrows the fed bytes (or the engine's own assembly buffer) until the next call of next().
struct event {
  enum class kind : std::uint8_t {
    // Everything fed is used up.
    none,
    // A header block; pull its fields with next_field(). On a server's new stream user is null.
    // `informational` for 1xx; `trailers` for the block behind a first one that ends the stream.
    headers,
    // A piece of a DATA frame, padding removed; may be empty with end_stream.
    data,
    // The stream ended abnormally: code, by, and whether the peer surely never processed it. The last event of
    // its stream.
    reset,
    // Asked for by want_writable(): the stream's queue has drained. May come after the stream's last frame.
    writable,
    // The peer's first SETTINGS have arrived (and so has anything they change).
    settings,
    // Client: open() may succeed again.
    slots,
    // The peer goes away: code, debug data in `data`; streams above its last id get reset events first.
    goaway,
    // Connection error (code, reason): GOAWAY is in the output; send it and close. The last event; every open
    // stream has had its reset event. Without GOAWAY after a bad preface and feed_end().
    failed,
  };
  kind what = kind::none;
  bool end_stream = false;
  bool trailers = false;
  bool informational = false;
  // reset: it may be retried, for it never left, or GOAWAY's last id or REFUSED_STREAM says so.
  bool unprocessed = false;
  initiator by = initiator::peer;
  error_code code = error_code::no_error;
  stream_ref stream = no_stream;
  stream_id id = 0;
  void* user = nullptr;
  bytes_view data{};
  std::string_view reason{};  // static text, for logs
};

// One header field of a headers event; views valid until the next next_field().
struct field {
  std::string_view name;
  std::string_view value;
  // What set_slot() left at this table entry or literal earlier, 0 at first (decision 0012); of a field in HPACK's
  // static table header_reader::static_slot().
  std::uint32_t slot = 0;
  bool never_index = false;
};

// A server's answer in one piece: two blocks of hpack's stateless functions, and a message between them.
struct whole_reply {
  bytes_view head;
  std::size_t message_bytes = 0;
  bytes_view trailers;
};

}  // namespace coracle::http2
