// attempt_set: the attempts of one call that has a retry or a hedging policy (gRFC A6).
#pragma once

#include "coracle/coro/executor.hpp"
#include "coracle/coro/pooled.hpp"
#include "rpc/attempt_plan.hpp"
#include "rpc/call_attempt.hpp"
#include "rpc/client_watch.hpp"
#include "rpc/replay_buffer.hpp"
#include "rpc/replayed_attempt.hpp"
#include "transport/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::calls {

class client_call;

// To its call it is a connection: the call gets an exchange at once, which records what it sends. To the channel it
// is the source of attempts, each of which sends what was recorded. On the first answer that is no failure (response
// headers), or when the record grows too large, the call is committed: it gets that attempt's own exchange in place of
// this one, the other attempts are cancelled, and all that is left to do here is to count the end. The call sees
// nothing of attempts that fail before that.
//
// Belongs to the call, on its loop; a call without a policy has none. The call's deadline and cancellation come as
// release().
class attempt_set final : public coro::pooled,
                          private transport::carrier,
                          private message_watch,
                          private coro::timer {
 public:
  // watch: of the call; may be null.
  attempt_set(client_call& call, const call_terms& terms, attempt_plan plan,
              std::shared_ptr<attempt_source> source, call_watch* watch) noexcept;
  ~attempt_set();
  // Once: the call is attached, the first attempt begins.
  void begin() noexcept;
  // The call has ended, by an attempt or otherwise.
  void call_ended(const status& how) noexcept;

  // --- from the attempts. After each of these the set and its attempts may be gone.
  void attached(replayed_attempt& a) noexcept;
  void room() noexcept;
  void succeeded(replayed_attempt& a, response_head& head, bool end_stream) noexcept;
  void ended(replayed_attempt& a, attempt_end e) noexcept;
  // The server surely never saw it. True: it has begun anew.
  bool try_again(replayed_attempt& a, const status& why) noexcept;

 private:
  // transport::carrier, to the call
  bool begin_headers(transport::stream_ref) noexcept override { return false; }  // each attempt sends its own
  void add_field(std::string_view, std::string_view, bool) noexcept override {}
  void end_headers(transport::stream_ref, bool) noexcept override {}
  bool send_block(transport::stream_ref, bytes_view, bool) override { return false; }
  std::uint8_t* reserve_data(transport::stream_ref, std::size_t) override { return nullptr; }
  void commit_data(transport::stream_ref, std::size_t, bool) noexcept override {}
  bool queue_data(transport::stream_ref, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n,
                  bool end_stream) override;
  [[nodiscard]] std::size_t queued(transport::stream_ref) const noexcept override;
  void want_writable(transport::stream_ref, std::size_t low_bytes) noexcept override;
  void consume(transport::stream_ref, std::size_t) noexcept override {}
  void reset(transport::stream_ref, transport::error_code) noexcept override {}
  void release(transport::stream_ref) noexcept override;
  void set_handler(transport::stream_ref, transport::exchange_handler*) noexcept override {}
  [[nodiscard]] loop& home() const noexcept override { return *terms_.home; }
  [[nodiscard]] const net::address& peer_address() const noexcept override { return no_peer_; }
  [[nodiscard]] const net::auth_context* auth() const noexcept override { return nullptr; }

  // message_watch: the sizes of what queue_data() gets next.
  void message_sent(message_size m) noexcept override { next_message_ = m; }
  void message_received(message_size) noexcept override {}

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
  call_target target_;
  net::address no_peer_;
  replay_buffer sent_;
  std::vector<std::unique_ptr<replayed_attempt>> attempts_;
  replayed_attempt* chosen_ = nullptr;  // the only one that may go on
  attempt_end last_end_;  // of an attempt that failed
  message_size next_message_;
  std::size_t low_bytes_ = 0;
  bool wants_writable_ = false;
  bool tried_again_ = false;
  bool next_is_chosen_ = false;  // no attempt was on its way when the record grew too large
  bool handed_over_ = false;
  bool released_ = false;
};

}  // namespace coracle::calls
