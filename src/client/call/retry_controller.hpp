// retry_controller: the attempts of one call that has a retry or hedging policy (gRFC A6).
#pragma once

#include "client/call/call_attempt.hpp"
#include "client/call/client_watch.hpp"
#include "client/call/retry_state.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/rpc/call_traffic.hpp"
#include "rpc/call.hpp"
#include "transport/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::client {

class retry_controller;
class client_call;

// A call that has sent more than this is committed to one attempt, and its record is dropped. grpc-go and
// gRPC core use the same limit.
inline constexpr std::size_t replay_bytes_max = 256u << 10;

// Messages with their prefixes, in order. Belongs to an retry_controller.
class replay_buffer {
 public:
  struct piece {
    std::unique_ptr<std::uint8_t[]> bytes;
    std::size_t size = 0;
    message_size message;  // for observers
    bool end_stream = false;  // a piece may consist of the end alone
    [[nodiscard]] bytes_view view() const noexcept { return {bytes.get(), size}; }
  };

  void add(piece p) {
    const std::size_t more = p.size;
    pieces_.push_back(std::move(p));
    bytes_ += more;
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

// Belongs to its retry_controller, which makes the decisions; on the loop of the call. Handles its exchange
// until the call is committed to it, takes only as much from the buffer as its stream has room for, and ends
// with cancel().
class replayed_attempt final : public call_attempt, public coro::pooled {
 public:
  replayed_attempt(retry_controller& set, replay_buffer& sent, const call_terms& terms,
                   unsigned previous_attempts) noexcept
      : call_attempt(terms), set_(set), sent_(sent), previous_(previous_attempts) {}
  ~replayed_attempt() { cancel(status::cancelled("the call has ended")); }

  // Begins the attempt; called again for a transparent retry.
  void begin(call_channel& from, std::unique_ptr<attempt_watch> watch) noexcept;
  // Sends what has been recorded, as far as there is room. Returns false if there was no memory: the attempt
  // has ended, and may be gone.
  bool pump() noexcept;
  void want_writable(std::size_t low_bytes) noexcept;
  // Returns how much of the record has not been sent.
  [[nodiscard]] std::size_t unsent() const noexcept;
  [[nodiscard]] bool attached() const noexcept { return static_cast<bool>(exchange_); }
  [[nodiscard]] bool in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] bool has_siblings() const noexcept override;
  [[nodiscard]] unsigned previous_attempts() const noexcept { return previous_; }
  // Gives up the stream, if it has one, with the outcome of the attempt.
  void report_end(status_code code, const metadata& trailing) noexcept;
  void cancel(const status& reason) noexcept;
  // Sends the rest of the buffer. Throws std::bad_alloc; the attempt is of no use then.
  void send_rest();
  // Gives up the exchange.
  transport::exchange release_exchange() noexcept;
  // Once attached() has been true.
  [[nodiscard]] const call_target& target() const noexcept { return *target_; }
  [[nodiscard]] std::unique_ptr<attempt_watch> release_watch() noexcept { return std::move(watch_); }

  // call_attempt
  void attach(transport::exchange x, const call_target& target) noexcept override;
  void fail(const status& reason, refusal refused) noexcept override;

  // transport::exchange_handler
  void on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) override;
  void on_data(bytes_view bytes, bool end_stream) noexcept override;
  void on_writable() noexcept override;
  void on_reset(const transport::abnormal_end& end) noexcept override;

 private:
  // Gives up the stream, if it has one, without an outcome.
  void abandon() noexcept;
  void count(const replay_buffer::piece& p) noexcept;
  void send(const replay_buffer::piece& p);

  retry_controller& set_;
  replay_buffer& sent_;
  const unsigned previous_;
  transport::exchange exchange_;
  const call_target* target_ = nullptr;  // set by attach()
  std::unique_ptr<attempt_watch> watch_;
  std::size_t next_piece_ = 0;
  std::size_t taken_bytes_ = 0;  // the bytes of the pieces before next_piece_
  bool in_flight_ = false;  // has begun and has not ended
};

// Records what the call sends, and makes attempts, each of which sends the record. The call is committed to
// an attempt when the first response headers without an error arrive, or when the record exceeds its limit.
// It then takes over the exchange of that attempt, the other attempts are cancelled, and this object only
// waits to count the end. The call does not see attempts that fail before that.
//
// Belongs to the call, on its loop. A call without a policy has none.
class retry_controller final : public coro::pooled, private rpc::request_record, private coro::timer {
 public:
  // watch: that of the call; may be null.
  retry_controller(client_call& call, const call_terms& terms, retry_state plan, call_channel& source,
                   call_watch* watch) noexcept;
  ~retry_controller();
  // Records the call's request and begins the first attempt. Called once.
  void begin() noexcept;
  // The call has ended, by an attempt, by its deadline or by cancellation.
  void call_ended(const status& outcome) noexcept;

  // --- called by the attempts. After each of these the set and its attempts may have been destroyed.
  void attached(replayed_attempt& a) noexcept;
  void on_room() noexcept;
  void succeeded(replayed_attempt& a, protocol::grpc::response_headers& headers, bool end_stream) noexcept;
  void ended(replayed_attempt& a, attempt_result e) noexcept;
  // The attempt ends because it lacked memory. The call goes on with the others, if there are any.
  void out_of_memory(replayed_attempt& a) noexcept;
  // The server has certainly not processed the attempt. Returns true if the attempt has begun again.
  bool retry_transparently(replayed_attempt& a, const status& reason) noexcept;
  // An attempt has ended because of the server with this code, before the call was committed to it.
  void count_attempt(status_code code) noexcept;

  [[nodiscard]] unsigned attempts_in_flight() const noexcept;

 private:
  // rpc::request_record
  void record(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, message_size m, bool end_stream) override;
  [[nodiscard]] std::size_t unsent() const noexcept override;
  void want_room(std::size_t low_bytes) noexcept override;

  void start_attempt(attempt_kind kind) noexcept;
  void timer_fired() noexcept;
  void arm_in(duration d) noexcept;
  void disarm() noexcept;
  // Returns the attempt that has made the most progress; null if none is in flight.
  [[nodiscard]] replayed_attempt* furthest() const noexcept;
  bool commit_to(replayed_attempt& a) noexcept;
  bool transfer_exchange(replayed_attempt& a) noexcept;
  void cancel_all_but(const replayed_attempt* kept) noexcept;

  client_call& call_;
  const call_terms& terms_;
  retry_state plan_;
  call_channel& source_;
  call_watch* watch_;
  replay_buffer sent_;
  std::vector<std::unique_ptr<replayed_attempt>> attempts_;
  replayed_attempt* chosen_ = nullptr;  // the only one that may continue
  attempt_result last_end_;  // of the last attempt that failed
  std::size_t low_bytes_ = 0;
  bool wants_writable_ = false;
  bool retried_transparently_ = false;
  bool next_is_chosen_ = false;  // no attempt was in flight when the record exceeded its limit
  bool transferred_ = false;
  bool call_ended_ = false;
};

}  // namespace coracle::client
