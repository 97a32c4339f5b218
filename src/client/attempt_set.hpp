// attempt_set: the attempts of one call that has a retry or a hedging policy (gRFC A6).
#pragma once

#include "client/attempt_plan.hpp"
#include "client/call_attempt.hpp"
#include "client/client_watch.hpp"
#include "client/replay_buffer.hpp"
#include "client/replayed_attempt.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/pooled.hpp"
#include "rpc/request_record.hpp"
#include "transport/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::client {

class client_call;

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
