// attempt_set: the attempts of one call that has a retry or a hedging policy (gRFC A6).
#pragma once

#include "client/attempt_plan.hpp"
#include "client/call_attempt.hpp"
#include "client/client_watch.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/pooled.hpp"
#include "coracle/rpc/message_size.hpp"
#include "rpc/request_record.hpp"
#include "transport/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::client {

class attempt_set;
class client_call;

// A call that has sent more than this is committed to one attempt, and what it sent is forgotten (the number that
// grpc-go and gRPC's core have).
inline constexpr std::size_t replay_bytes_max = 256u << 10;

// Messages with their prefixes, in order. Belongs to an attempt_set.
class replay_buffer {
 public:
  struct piece {
    std::unique_ptr<std::uint8_t[]> bytes;
    std::size_t size = 0;
    message_size message;  // for observers
    bool end_stream = false;  // may be all that the piece says
    [[nodiscard]] bytes_view view() const noexcept { return {bytes.get(), size}; }
  };

  void add(piece p) {
    bytes_ += p.size;
    pieces_.push_back(std::move(p));
  }
  [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size(); }
  [[nodiscard]] piece& at(std::size_t i) noexcept { return pieces_[i]; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool full() const noexcept { return bytes_ > replay_bytes_max; }
  void clear() noexcept {
    pieces_.clear();
    pieces_.shrink_to_fit();
    bytes_ = 0;
  }

 private:
  std::vector<piece> pieces_;
  std::size_t bytes_ = 0;
};

// Belongs to its attempt_set, which decides; on the call's loop. Handles its exchange until the call is committed to
// it, takes no more out of the buffer than its stream has room for, and ends by cancel().
class replayed_attempt final : public call_attempt, public coro::pooled {
 public:
  replayed_attempt(attempt_set& set, replay_buffer& sent, const call_terms& terms,
                   unsigned previous_attempts) noexcept
      : call_attempt(terms), set_(set), sent_(sent), previous_(previous_attempts) {}
  ~replayed_attempt() { cancel(status::cancelled("the call has ended")); }

  // Again after a transparent retry.
  void begin(attempt_source& from, std::unique_ptr<attempt_watch> watch) noexcept;
  // Something was recorded.
  void pump() noexcept;
  void want_writable(std::size_t low_bytes) noexcept;
  // Of what is recorded, how much has not gone out.
  [[nodiscard]] std::size_t unsent() const noexcept;
  [[nodiscard]] bool attached() const noexcept { return static_cast<bool>(exchange_); }
  [[nodiscard]] bool on_its_way() const noexcept { return on_its_way_; }
  [[nodiscard]] unsigned previous_attempts() const noexcept { return previous_; }
  void cancel(const status& why) noexcept;
  // Sends the rest, out of the buffer, and gives the exchange away.
  transport::exchange hand_over() noexcept;
  [[nodiscard]] std::unique_ptr<attempt_watch> give_watch() noexcept { return std::move(watch_); }

  // call_attempt
  void attach(transport::exchange x, const call_target& target) noexcept override;
  void fail(const status& why, refusal how) noexcept override;

  // transport::exchange_handler
  void on_headers(transport::header_source& fields, transport::block_kind kind,
                  bool end_stream) noexcept override;
  void on_data(bytes_view bytes, bool end_stream) noexcept override;
  void on_writable() noexcept override;
  void on_reset(const transport::abnormal_end& end) noexcept override;

 private:
  void count(const replay_buffer::piece& p) noexcept;
  void send(const replay_buffer::piece& p) noexcept;

  attempt_set& set_;
  replay_buffer& sent_;
  const unsigned previous_;
  transport::exchange exchange_;
  std::unique_ptr<attempt_watch> watch_;
  std::size_t next_piece_ = 0;
  std::size_t taken_bytes_ = 0;  // of the pieces before
  bool on_its_way_ = false;  // begun, not ended
};

// Records what the call sends, and is the source of attempts, each of which sends what was recorded. On the first answer
// that is no failure (response headers), or when the record grows too large, the call is committed: it gets that
// attempt's exchange, the other attempts are cancelled, and all that is left to do here is to count the end. The call
// sees nothing of attempts that fail before that.
//
// Belongs to the call, on its loop; a call without a policy has none.
class attempt_set final : public coro::pooled, private rpc::request_record, private coro::timer {
 public:
  // watch: of the call; may be null.
  attempt_set(client_call& call, const call_terms& terms, attempt_plan plan,
              std::shared_ptr<attempt_source> source, call_watch* watch) noexcept;
  ~attempt_set();
  // Once: the call's request is recorded, the first attempt begins.
  void begin() noexcept;
  // The call has ended, by an attempt or by its deadline or cancellation.
  void call_ended(const status& how) noexcept;

  // --- from the attempts. After each of these the set and its attempts may be gone.
  void attached(replayed_attempt& a) noexcept;
  void room() noexcept;
  void succeeded(replayed_attempt& a, protocol::grpc::response_headers& head, bool end_stream) noexcept;
  void ended(replayed_attempt& a, attempt_end e) noexcept;
  // The server surely never saw it. True: it has begun anew.
  bool try_again(replayed_attempt& a, const status& why) noexcept;

 private:
  // rpc::request_record
  void record(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, message_size m, bool end_stream) override;
  [[nodiscard]] std::size_t unsent() const noexcept override;
  void want_room(std::size_t low_bytes) noexcept override;

  void start_attempt(attempt_kind kind) noexcept;
  void timer_fired() noexcept;
  void arm_in(duration d) noexcept;
  void disarm() noexcept;
  [[nodiscard]] unsigned on_their_way() const noexcept;
  // The attempt that has got furthest; null when none is on its way.
  [[nodiscard]] replayed_attempt* furthest() const noexcept;
  void commit_to(replayed_attempt& a) noexcept;
  void hand_over(replayed_attempt& a) noexcept;
  void cancel_all_but(const replayed_attempt* kept) noexcept;

  client_call& call_;
  const call_terms& terms_;
  attempt_plan plan_;
  std::shared_ptr<attempt_source> source_;
  call_watch* watch_;
  replay_buffer sent_;
  std::vector<std::unique_ptr<replayed_attempt>> attempts_;
  replayed_attempt* chosen_ = nullptr;  // the only one that may go on
  attempt_end last_end_;  // of an attempt that failed
  std::size_t low_bytes_ = 0;
  bool wants_writable_ = false;
  bool tried_again_ = false;
  bool next_is_chosen_ = false;  // no attempt was on its way when the record grew too large
  bool handed_over_ = false;
  bool call_ended_ = false;
};

}  // namespace coracle::client
