// replayed_attempt: one of several attempts of a call: sends what the call has recorded, hears what the server says first.
#pragma once

#include "client/call_attempt.hpp"
#include "client/client_watch.hpp"
#include "client/replay_buffer.hpp"
#include "coracle/coro/impl/pooled.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace coracle::client {

class attempt_set;

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

}  // namespace coracle::client
