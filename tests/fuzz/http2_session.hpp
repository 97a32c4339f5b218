// A user of an engine for fuzzers: the input chooses its actions, at each event and between the pieces of the
// peer's bytes. After each step it checks what the engine guarantees for any input.
#pragma once

#include "hpack/encoder.hpp"
#include "http2/connection.hpp"
#include "http2/frame.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace coracle::http2::fuzz {

inline void require(bool fine) {
  if (!fine) std::abort();
}

// Octets that control the actions; zeros when they are used up.
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

// Small enough for an input of a few hundred bytes to reach each of them.
inline limits small_limits() {
  using namespace std::chrono_literals;
  limits l;
  l.max_concurrent_streams = 8;
  l.initial_window_bytes = 2000;
  l.header_list_bytes = 600;
  l.header_block_bytes = 500;
  l.continuations = 3;
  l.interim_responses = 2;
  l.output_bytes = 600;
  l.own_streams = 1000;
  l.own_open_streams = 16;
  l.control_frames_burst = 40;
  l.empty_frames_burst = 10;
  l.resets_burst = 10;
  l.early_resets_burst = 5;
  l.keepalive = {1s, 500ms, false};
  l.pings = {200ms, false, 2};
  return l;
}

// The memory that an engine may hold for `streams` streams, apart from its output and from what its user
// queues and keeps.
inline std::size_t memory_bytes_max(const limits& l, std::size_t streams) {
  return (16u << 10) + 2 * std::size_t{l.max_frame_bytes} + 2 * std::size_t{l.header_block_bytes} +
         4 * (std::size_t{l.header_table_bytes} + l.encoder_table_bytes) +
         streams * (1024 + 2 * std::size_t{l.header_list_bytes});
}

// Reads the peer's bytes in parallel to the engine, and reports whether a header block has exceeded a limit:
// an engine that has not failed by then does not enforce it. It reads only frames; on a server's side they
// follow the preface.
class block_observer {
 public:
  block_observer(role side, const limits& l)
      : bytes_max_(l.header_block_bytes),
        continuations_max_(l.continuations),
        preface_(side == role::server ? as_bytes(client_preface) : bytes_view()) {}

  void see(bytes_view bytes) {
    seen_.insert(seen_.end(), bytes.begin(), bytes.end());
    while (take_preface() && take_frame()) continue;
  }
  [[nodiscard]] bool exceeded() const { return exceeded_; }

 private:
  // False until the preface is complete, and always if the first bytes are not the preface.
  bool take_preface() {
    const std::size_t n = std::min(preface_.size(), seen_.size());
    if (!std::equal(seen_.begin(), seen_.begin() + static_cast<std::ptrdiff_t>(n), preface_.begin()))
      return false;
    if (n < preface_.size()) return false;
    seen_.erase(seen_.begin(), seen_.begin() + static_cast<std::ptrdiff_t>(n));
    preface_ = {};
    return true;
  }
  bool take_frame() {
    if (seen_.size() < frame_header_bytes) return false;
    const std::size_t length = std::size_t{seen_[0]} << 16 | std::size_t{seen_[1]} << 8 | seen_[2];
    if (seen_.size() < frame_header_bytes + length) return false;
    const auto type = static_cast<frame_type>(seen_[3]);
    if (type == frame_type::headers) {
      const std::size_t padding = (seen_[4] & flag::padded) && length > 0 ? 1u + seen_[9] : 0u;
      const std::size_t other = padding + (seen_[4] & flag::priority ? 5u : 0u);
      block_bytes_ = length - std::min(length, other);
      continuations_ = 0;
    } else if (type == frame_type::continuation) {
      block_bytes_ += length;
      ++continuations_;
    }
    exceeded_ |= block_bytes_ > bytes_max_ || continuations_ > continuations_max_;
    seen_.erase(seen_.begin(), seen_.begin() + static_cast<std::ptrdiff_t>(frame_header_bytes + length));
    return true;
  }

  std::size_t bytes_max_;
  std::size_t continuations_max_;
  bytes_view preface_;  // that has not come yet
  std::vector<std::uint8_t> seen_;  // of a frame that has not come whole
  std::size_t block_bytes_ = 0;
  std::size_t continuations_ = 0;
  bool exceeded_ = false;
};

// The byte at `offset` of what a user sends on a stream.
constexpr std::uint8_t pattern(stream_id id, std::size_t offset) {
  return static_cast<std::uint8_t>(id * 7 + offset * 13 + (offset >> 8));
}

// Whether the peer is such a user, too; otherwise it may send anything.
enum class peer_kind : std::uint8_t { any, user };

class user {
 public:
  user(role r, const limits& l, peer_kind peer = peer_kind::any)
      : side(r), engine(r, l, time_point{}), limits_(l), peer_(peer), blocks_(r, l) {}
  ~user() {
    engine.feed_end(now);
    drain();
    require(engine.failed() && streams_.empty() && engine.open_streams() == 0 && engine.unread_bytes() == 0);
    // No memory remains charged to a stream that is gone.
    engine.output().clear();
    engine.release_idle_memory();
    require(engine.memory_bytes() <= memory_bytes_max(limits_, 0) + 96 * chunks_);
  }

  // Each piece has memory of its own, which is freed afterwards. With bit 7 of `choice` the user stops
  // reading after each event, and continues in new memory.
  void feed(bytes_view bytes, std::uint8_t choice) {
    choice_ = choice;
    fed_bytes_ += bytes.size();
    blocks_.see(bytes);
    auto input = std::make_unique<std::vector<std::uint8_t>>(bytes.begin(), bytes.end());
    engine.feed(*input, now);
    for (event e = engine.next(); e.type != event::kind::none; e = engine.next()) {
      on(e);
      if (!(choice & 128)) continue;
      const bytes_view rest = engine.take_unread();
      require(rest.size() <= input->size());
      input = std::make_unique<std::vector<std::uint8_t>>(rest.begin(), rest.end());
      if (choice & 2) engine.release_idle_memory();
      engine.feed(*input, now);
    }
    require(engine.failed() || !blocks_.exceeded());
    check();
  }
  void drain() {
    for (event e = engine.next(); e.type != event::kind::none; e = engine.next()) on(e);
  }

  // An operation of the user itself: bits 0 to 4 of `what` choose it, the others the stream; `how` is its
  // operand.
  void act(std::uint8_t value, std::uint8_t choice) {
    const std::size_t before = engine.output().size();
    const stream_ref s = some_stream(value >> 5);
    switch (value & 31) {
      case 0: open(choice & 1); break;
      case 1: engine.reset(s, error_code::cancel); break;
      case 2: drop(s); break;
      case 3: queue(s, choice * 40u, choice & 1); break;
      case 4: engine.consume(s, choice * 10u); break;
      case 5: engine.withhold_credit(choice & 1); break;
      case 6: engine.drain(); break;
      case 7: engine.drain_now(); break;
      case 9: engine.want_writable(s, choice * 4u); break;
      case 10: now += std::chrono::milliseconds(choice * 20); break;
      case 11: time_out(); break;
      case 12: trail(s); break;
      case 13: head(s, choice); break;
      case 14: engine.produce(choice * 64u); break;
      case 15:
        if (choice == 255) engine.fail(error_code::internal_error, "at will");
        break;
      case 16: reply(s, choice * 64u); break;
      case 17: write(s, choice * 64u, choice & 1, choice & 2); break;
      case 18: release_idle(); break;
      case 19: keep(s, choice * 1000u); break;
      case 20: engine.refuse_streams(choice & 1); break;
      case 21: send(choice * 64u); break;
      case 22:
        if (engine.next_timeout() != never) now = std::max(now, engine.next_timeout());
        time_out();
        break;
      case 23: long_head(s, choice * 100u); break;
      default: break;
    }
    drain();
    own_bytes_ += engine.output().size() - std::min(before, engine.output().size());
    answered_before_ = engine.pings_answered();
    check();
  }
  // Sends the output: up to n bytes of it.
  void send(std::size_t n) {
    base::output_buffer& out = engine.output();
    out.consume(std::min(n, out.size()));
    if (!out.empty()) return;
    engine.output_taken();
    own_bytes_ = fed_bytes_ = 0;
  }

  void open(bool end) {
    if (side != role::client) return;
    const stream_ref s = engine.open(nullptr);
    require((s != no_stream) || !engine.can_open());
    if (s == no_stream) return;
    streams_[s] = {};
    tag(s);
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
    std::size_t sent_bytes = 0;
    std::size_t received_bytes = 0;
    std::size_t kept_bytes = 0;
  };
  stream_ref some_stream(unsigned i) {
    if (streams_.empty()) return no_stream;
    auto at = streams_.begin();
    std::advance(at, static_cast<long>(i % streams_.size()));
    return at->first;
  }
  void tag(stream_ref s) {
    engine.set_user(s, &streams_[s]);
    require(engine.user_of(s) == &streams_[s]);
  }
  void drop(stream_ref s) {
    const auto at = streams_.find(s);
    if (at == streams_.end()) return;
    kept_of_released_ += at->second.kept_bytes;
    streams_.erase(at);
    engine.release(s);
    require(engine.user_of(s) == nullptr);
  }
  void keep(stream_ref s, std::size_t n) {
    if (!streams_.contains(s)) return;
    engine.set_kept(s, n);
    streams_[s].kept_bytes = n;
  }
  void fill(stream_ref s, std::uint8_t* to, std::size_t n) {
    const stream_id id = engine.id_of(s);
    for (std::size_t i = 0; i < n; ++i) to[i] = pattern(id, streams_[s].sent_bytes + i);
  }
  void queue(stream_ref s, std::size_t n, bool end) {
    if (!streams_.contains(s)) return;
    std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[n]());
    fill(s, bytes.get(), n);
    ++chunks_;
    if (engine.queue_data(s, std::move(bytes), n, end)) streams_[s].sent_bytes += n;
  }
  void write(stream_ref s, std::size_t n, bool end, bool less) {
    if (!streams_.contains(s)) return;
    std::uint8_t* const to = engine.reserve_data(s, n);
    if (!to) return;
    require(engine.can_send(s) && engine.queued(s) == 0);
    std::memset(to, 0xee, n);
    const std::size_t written = less ? n / 2 : n;
    fill(s, to, written);
    const std::uint64_t before = engine.data_sent();
    engine.commit_data(s, written, end);
    require(engine.data_sent() == before + written);
    streams_[s].sent_bytes += written;
  }
  void reply(stream_ref s, std::size_t n) {
    static const auto headers =
        hpack::stateless_encoder::encode_block({{":status", "200"}, {"content-type", "application/grpc"}});
    static const auto trailers = hpack::stateless_encoder::encode_block({{"grpc-status", "0"}});
    if (side != role::server || !streams_.contains(s)) return;
    const unary_response r{headers, n, trailers};
    const std::size_t before = engine.output().size();
    std::uint8_t* const to = engine.reserve_reply(s, r);
    require(engine.output().size() == before);
    if (!to) return;
    fill(s, to, n);
    engine.commit_reply(s, r);
    const std::size_t written = engine.output().size() - before - headers.size() - n - trailers.size();
    require(written == 27 || written == 27 + 13);  // with RST_STREAM for a client that has not ended its side
    require(!engine.can_send(s) && engine.user_of(s) == nullptr);
    kept_of_released_ += streams_[s].kept_bytes;
    streams_.erase(s);
  }
  void answer(stream_ref s) {
    static const auto block =
        hpack::stateless_encoder::encode_block({{":status", "200"}, {"grpc-status", "14"}});
    if (side != role::server || !streams_.contains(s)) return;
    const bytes_view pieces[] = {bytes_view(block).first(1), bytes_view(), bytes_view(block).subspan(1)};
    const std::size_t before = engine.output().size();
    if (!engine.answer_with_block(s, pieces))
      return require(engine.output().size() == before || engine.failed());
    require(engine.output().size() >= before + frame_header_bytes + block.size());
    require(!engine.can_send(s) && engine.user_of(s) == nullptr);
    kept_of_released_ += streams_[s].kept_bytes;
    streams_.erase(s);
  }
  void head(stream_ref s, std::uint8_t choice) {
    if (!streams_.contains(s) || !engine.begin_headers(s)) return;
    engine.add_field(":status", choice & 4 ? "103" : "200");
    engine.add_field("x-a", "b", static_cast<connection::indexing>(choice_ % 3));
    engine.end_headers(choice & 1);
  }
  void long_head(stream_ref s, std::size_t n) {
    if (side != role::server || !streams_.contains(s) || !engine.begin_headers(s)) return;
    engine.add_field(":status", "200");
    engine.add_field("x-long", std::string(n, 'l'), connection::indexing::no_index);
    engine.end_headers(false);
  }
  void trail(stream_ref s) {
    static const auto block = hpack::stateless_encoder::encode_block({{"grpc-status", "0"}});
    ++chunks_;
    engine.send_block(s, block, true);
  }
  void release_idle() {
    const std::size_t before = engine.memory_bytes();
    engine.release_idle_memory();
    number_ = 0;
    require(engine.memory_bytes() <= before);
  }
  // A timer that is due again immediately would stop the loop.
  void time_out() {
    engine.on_timeout(now);
    require(engine.next_timeout() > now);
  }

  void on(const event& e) {
    using kind = event::kind;
    require(!over_);
    if (e.type == kind::failed) {
      over_ = true;
      for (const auto& [s, k] : streams_) require(k.reset || k.ended || !engine.can_send(s));
      while (!streams_.empty()) drop(streams_.begin()->first);
      return;
    }
    touch(e.data);
    if (e.stream == no_stream) return;
    if (e.type == kind::headers && !streams_.contains(e.stream)) {
      require(side == role::server && !e.trailers && e.user == nullptr);
      streams_[e.stream] = {};
      tag(e.stream);
    } else {
      require(streams_.contains(e.stream) && e.user == &streams_[e.stream]);
    }
    known& k = streams_[e.stream];
    require(!k.reset);
    const std::size_t before = engine.output().size();
    switch (e.type) {
      case kind::headers:
        require(!k.ended);
        if (!((choice_ & 32) && engine.header_block_number() == number_ && read_varying())) read_fields();
        if (choice_ & 2) head(e.stream, choice_ & 4 ? 1 : 0);
        if (choice_ & 4) reply(e.stream, choice_);
        if (choice_ & 8) answer(e.stream);
        break;
      case kind::data:
        require(!k.ended && (e.end_stream || !e.data.empty()));
        for (std::size_t i = 0; peer_ == peer_kind::user && i < e.data.size(); ++i)
          require(e.data[i] == pattern(e.id, k.received_bytes + i));
        k.received_bytes += e.data.size();
        if (choice_ & 8) engine.consume(e.stream, e.data.size());
        if (choice_ & 16) queue(e.stream, e.data.size() + 1, choice_ & 32);
        break;
      case kind::reset:
        k.reset = true;
        require(peer_ != peer_kind::user || e.code != error_code::flow_control_error);
        break;
      default: break;
    }
    if (const auto at = streams_.find(e.stream);
        at != streams_.end()) {  // else it was answered, and so released
      at->second.ended |= e.end_stream;
      if (at->second.reset || (choice_ & 64)) drop(e.stream);
    }
    own_bytes_ += engine.output().size() - before;
    if (engine.output().size() != before) answered_before_ = engine.pings_answered();
  }
  void read_fields() {
    field f;
    while ((choice_ & 1) && engine.next_field(f)) {
      touch(as_bytes(f.name));
      touch(as_bytes(f.value));
      engine.set_slot(f.slot + 1);
    }
    number_ = engine.header_block_number();
  }
  bool read_varying() {
    std::span<const hpack::field> varying;
    if (!engine.read_varying_fields(varying)) return false;
    for (const hpack::field& f : varying) {
      touch(as_bytes(f.name));
      touch(as_bytes(f.value));
    }
    return true;
  }
  // Reads every byte, for AddressSanitizer.
  void touch(bytes_view bytes) {
    for (const std::uint8_t b : bytes) touched_ = touched_ + b;
  }

  void check() {
    std::size_t queued_bytes = engine.unread_bytes();
    std::size_t kept_bytes = kept_of_released_;
    for (const auto& [s, k] : streams_) {
      queued_bytes += engine.queued(s);
      kept_bytes += k.kept_bytes;
    }
    streams_max_ = std::max(streams_max_, streams_.size() + engine.open_streams());
    if (side == role::server) require(streams_max_ <= 3 * std::size_t{limits_.max_concurrent_streams});
    require(engine.memory_bytes() <= memory_bytes_max(limits_, 2 * streams_max_) +
                                         engine.output().capacity() + queued_bytes + kept_bytes +
                                         96 * chunks_);
    // In addition to the answers there are window updates, for DATA that was received, and one GOAWAY.
    require(engine.output().size() <= limits_.output_bytes + 300 + own_bytes_ + 2 * fed_bytes_);
    // Without HEADERS or DATA between them, and at the same time, the peer's PINGs are strikes.
    if (side == role::server && limits_.pings.min_interval > duration::zero())
      require(engine.pings_answered() - answered_before_ <= limits_.pings.strikes + 2);
    require(!engine.failed() || engine.next_timeout() == never);
  }

  const limits limits_;
  const peer_kind peer_;
  block_observer blocks_;
  std::map<stream_ref, known> streams_;
  std::uint8_t choice_ = 0;
  bool over_ = false;
  std::uint32_t number_ = 0;  // of the block that was read last
  std::size_t chunks_ = 0;  // that were queued, ever
  std::size_t kept_of_released_ = 0;  // set_kept(), ever; their streams may still have bytes to send
  std::size_t streams_max_ = 0;
  std::size_t own_bytes_ = 300;  // of the output, from the user's operations; at first preface and SETTINGS
  std::size_t fed_bytes_ = 0;  // since the output was empty
  std::uint64_t answered_before_ = 0;  // PINGs, before the user's last operation
  volatile std::uint8_t touched_ = 0;
};

}  // namespace coracle::http2::fuzz
