// A user of an engine for fuzzers: does what its dice say upon each event, and checks what an engine promises
// whatever comes in.
#pragma once

#include "hpack/stateless_encoder.hpp"
#include "http2/connection.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace coracle::http2::fuzz {

inline void require(bool fine) {
  if (!fine) std::abort();
}

// Octets that steer; zeros when they are used up.
class dice {
 public:
  explicit dice(bytes_view bytes) : rest_(bytes) {}
  std::uint8_t octet() {
    if (rest_.empty()) return 0;
    const std::uint8_t b = rest_[0];
    rest_ = rest_.subspan(1);
    return b;
  }
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  bytes_view take(std::size_t n) {
    const bytes_view taken = rest_.first(n < rest_.size() ? n : rest_.size());
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  bytes_view rest_;
};

inline limits small_limits() {
  limits l;
  l.max_concurrent_streams = 8;
  l.initial_window_bytes = 2000;
  l.header_list_bytes = 2000;
  l.header_block_bytes = 4000;
  l.output_bytes = 4000;
  l.own_streams = 1000;
  return l;
}

class user {
 public:
  user(role r, const limits& l) : side(r), engine(r, l, time_point{}) {}
  ~user() {
    engine.feed_end(now);
    drain();
    require(engine.failed() && streams_.empty() && engine.open_streams() == 0);
  }

  // Each piece lies in memory of its own, gone afterwards.
  void feed(bytes_view bytes, std::uint8_t choice) {
    choice_ = choice;
    std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
    engine.feed(copy, now);
    drain();
  }
  void drain() {
    for (event e = engine.next(); e.what != event::kind::none; e = engine.next()) on(e);
  }
  // Something of the user's own accord.
  void act(std::uint8_t what) {
    const stream_ref s = some_stream(what >> 4);
    switch (what & 15) {
      case 0: open(what & 16); break;
      case 1: engine.reset(s, error_code::cancel); break;
      case 2: drop(s); break;
      case 3: queue(s, 5000, what & 16); break;
      case 4: engine.consume(s, 700); break;
      case 5: engine.withhold_credit(what & 16); break;
      case 6: engine.drain(); break;
      case 7: engine.drain_now(); break;
      case 8: engine.ping(what); break;
      case 9: engine.want_writable(s, 100); break;
      case 10: now += std::chrono::milliseconds(300); break;
      case 11: engine.on_timeout(now); break;
      case 12: trail(s); break;
      case 13: head(s, what & 16); break;
      case 14: engine.produce(3000); break;
      case 15:
        if (what == 255) engine.fail(error_code::internal_error, "at will");
        break;
    }
    drain();
  }
  void open(bool end) {
    if (side != role::client) return;
    const stream_ref s = engine.open(nullptr);
    require((s != no_stream) || !engine.can_open());
    if (s == no_stream) return;
    streams_[s] = {};
    if (!engine.begin_headers(s)) std::abort();
    engine.add_field(":method", "POST");
    engine.add_field(":scheme", "http");
    engine.add_field(":path", "/a.B/C");
    engine.end_headers(end);
  }

  const role side;
  time_point now{};
  connection engine;

 private:
  struct known {
    bool ended = false;  // no event may follow but reset and writable
    bool reset = false;  // none at all
  };
  stream_ref some_stream(unsigned i) {
    if (streams_.empty()) return no_stream;
    auto at = streams_.begin();
    std::advance(at, static_cast<long>(i % streams_.size()));
    return at->first;
  }
  void drop(stream_ref s) {
    if (streams_.erase(s)) engine.release(s);
  }
  void queue(stream_ref s, std::size_t n, bool end) {
    std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[n]());
    engine.queue_data(s, std::move(bytes), n, end);
  }
  void head(stream_ref s, bool end) {
    if (!streams_.contains(s) || !engine.begin_headers(s)) return;
    engine.add_field(":status", "200");
    engine.add_field("x-a", "b", static_cast<connection::indexing>(choice_ % 3));
    engine.end_headers(end);
  }
  void trail(stream_ref s) {
    static const auto block = hpack::stateless_encoder::encode_block({{"grpc-status", "0"}});
    engine.send_block(s, block, true);
  }

  void on(const event& e) {
    using kind = event::kind;
    require(!over_);
    if (e.what == kind::failed) {
      over_ = true;
      for (const auto& [s, k] : streams_) require(k.reset || k.ended || !engine.can_send(s));
      while (!streams_.empty()) drop(streams_.begin()->first);
      return;
    }
    if (e.stream == no_stream) return;
    if (e.what == kind::headers && !streams_.contains(e.stream)) {
      require(side == role::server && !e.trailers);
      streams_[e.stream] = {};
    }
    require(streams_.contains(e.stream));
    known& k = streams_[e.stream];
    require(!k.reset);
    switch (e.what) {
      case kind::headers:
        require(!k.ended);
        for (field f; (choice_ & 1) && engine.next_field(f);) {
          std::size_t sum = f.slot;  // touch every octet
          for (const char c : f.name) sum += static_cast<unsigned char>(c);
          for (const char c : f.value) sum += static_cast<unsigned char>(c);
          engine.set_slot(static_cast<std::uint32_t>(sum));
        }
        if (choice_ & 2) head(e.stream, choice_ & 4);
        break;
      case kind::data: {
        require(!k.ended && (e.end_stream || !e.data.empty()));
        std::vector<std::uint8_t> touched(e.data.begin(), e.data.end());
        if (choice_ & 8) engine.consume(e.stream, e.data.size());
        if (choice_ & 16) queue(e.stream, touched.size() + 1, choice_ & 32);
        break;
      }
      case kind::reset: k.reset = true; break;
      default: break;
    }
    k.ended |= e.end_stream;
    if (k.reset || (choice_ & 64)) drop(e.stream);
  }

  std::map<stream_ref, known> streams_;
  std::uint8_t choice_ = 0;
  bool over_ = false;
};

}  // namespace coracle::http2::fuzz
