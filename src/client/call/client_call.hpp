// client_call: the client's side of one call, from the stub to the status.
#pragma once

#include "base/if_memory_allows.hpp"
#include "client/call/attempt_result.hpp"
#include "client/call/call_attempt.hpp"
#include "client/call/call_setup.hpp"
#include "client/call/call_state.hpp"
#include "client/call/client_watch.hpp"
#include "client/call/method_config.hpp"
#include "client/call/preparation.hpp"
#include "client/call/retry_controller.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/client/impl/call_channel.hpp"
#include "coracle/client/unary_call.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/security/connection_peer.hpp"
#include "protocol/grpc/response_headers.hpp"
#include "rpc/call.hpp"
#include "rpc/call_meter.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace coracle::client {

class stream_chain;

// Is its own single attempt. Belongs to a unary_operation or a client_stream; its memory comes from the frame
// pool of the loop.
class client_call final : public rpc::call,
                          public call_attempt,
                          public coro::pooled,
                          private preparation_waiter,
                          private coro::timer,
                          private coro::runnable {
 public:
  // options: moved from; null: all defaults.
  client_call(call_channel& channel, method_path path, call_options* options);
  ~client_call();

  // --- called by the owner
  void set_unary(unary_operation& op, const rpc::codec& request_codec, const void* request) noexcept;
  // The reply passes `p`, which must outlive the call.
  void pass_reply_by(rpc::message_path& p) noexcept { receives_ = &p; }
  void set_request(const rpc::codec& k, const void* request);
  // For a stream whose server sends one message, which expect_reply() requests, possibly after the end of the
  // call.
  void has_one_reply() noexcept { terms_.one_reply = true; }
  void begin(const coro::environment& inherited) noexcept;
  // For a stream: as begin(), with the interceptors around the call.
  void begin_stream(const coro::environment& inherited) noexcept;
  [[nodiscard]] bool begun() const noexcept { return terms_.owner_loop != nullptr; }
  void half_close() noexcept;
  void expect_reply(const rpc::codec& k, void* into) noexcept;
  void cancel() noexcept;
  // The owner gives up the call: cancels it, then deletes this on the loop of the call.
  void dispose() noexcept;
  // Keeps the call, and its channel, for an operation that may outlive the owner. The call then begins on the
  // loop that this returns. The first operation decides about that; after it, one thread may read while
  // another one writes.
  loop& hold();
  void let_go() noexcept;
  [[nodiscard]] const char* method() const noexcept { return terms_.path.data(); }
  // Whether the call has ended for its owner: not while interceptors may still change the result, or the
  // reply is deferred.
  [[nodiscard]] bool ended() const noexcept {
    return is_over(state_) && !chain_ && state_ != call_state::reply_waits;
  }
  [[nodiscard]] const status& outcome() const noexcept { return outcome_; }
  [[nodiscard]] loop& owner_loop() const noexcept { return *terms_.owner_loop; }
  [[nodiscard]] call_channel& channel() const noexcept { return channel_; }
  // Null before the call has a connection.
  [[nodiscard]] const std::shared_ptr<const connection_peer>& peer() const noexcept { return peer_; }
  [[nodiscard]] const metadata& initial() const noexcept { return initial_; }
  [[nodiscard]] const metadata& trailing() const noexcept { return trailing_; }
  bool wait_for_end(end_operation& op) noexcept;
  void forget(end_operation& op) noexcept;
  bool wait_for_headers(headers_operation& op) noexcept;
  void forget(headers_operation& op) noexcept { waiter_of(op) = nullptr; }
  // Ends one wait. Null: there is none.
  void stop_waiting(headers_operation* op, const status& outcome) noexcept {
    if (op) [[unlikely]]
      stop_wait(op, outcome);
  }

  // --- called by the stream_chain
  void begin_attempt(const coro::environment& e, const call_options& options,
                     const intercepted_message* request) noexcept;
  // Before begin_attempt(): what interceptors see of the one request is in the codec of `options`.
  void use_codec_of(const call_options& options) noexcept { format_.use(options.codec); }
  // Before begin_attempt(): the messages of the stream pass `hooks`. Throws std::bad_alloc.
  void set_hooks(rpc::hook_list hooks);
  // In place of begin_attempt().
  void cancel_try(const status& reason) noexcept;
  // The interceptors have ended. Deletes them.
  void finish_chain(const status& outcome) noexcept;

  // --- called by the retry_controller
  // Sends to `r` until the call is committed to an attempt.
  void record_to(rpc::request_record& r) noexcept;
  // Takes over the exchange of the attempt that the call is committed to.
  void adopt(transport::exchange x, const call_target& target, std::unique_ptr<attempt_watch> watch) noexcept;
  void take_first_headers(protocol::grpc::response_headers& headers, bool end_stream) noexcept {
    or_end([&] {
      take_headers(headers, metadata(std::move(headers.metadata)), transport::block_kind::headers,
                   end_stream);
    });
  }
  void attempts_failed(attempt_result& last) noexcept;
  // An attempt has ended because of the server with this code, without response headers before, or they have
  // arrived.
  void count_attempt(status_code code) noexcept {
    if (counts_ && counts_->throttle) [[unlikely]]
      count_for_throttle(code);
  }

  // call_attempt
  void attach(transport::exchange x, const call_target& target) noexcept override;
  void configured(const call_setup& setup) noexcept override;
  void fail(const status& reason, refusal refused) noexcept override;

  // transport::exchange_handler
  void on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) override;
  void on_data(bytes_view bytes, bool end_stream) override;
  void on_writable() noexcept override { resume_writer(); }
  void on_reset(const transport::abnormal_end& end) noexcept override;

 private:
  void abandon() noexcept;
  struct stop_hook : coro::stop_callback {
    explicit stop_hook(client_call& c) noexcept;
    client_call& owner;
  };
  // The hooks of a stream. They see messages that are read after the interceptors have ended, too.
  struct stream_hooks final : rpc::message_path {
    status received(rpc::call& c, const rpc::codec& k, void* into, bytes_view body) override;
    status sent(intercepted_message& m) override;
    void outgoing_ended() noexcept override;
    void headers_received(const metadata& initial) noexcept override;
    rpc::hook_list hooks;
  };

  bool prepare_write() override { return can_send(); }
  [[nodiscard]] bool sending_over() const noexcept override { return !may_write(state_); }
  void no_more_writes() noexcept override { advance(call_event::close_sent); }
  void messages_broken(status reason) noexcept override;
  [[nodiscard]] std::string_view path() const noexcept override { return terms_.path; }

  void advance(call_event e) noexcept { state_ = after(state_, e); }
  // The codec and the limits of the messages. begin_here() sets the compression.
  void apply_options() noexcept {
    max_receive_bytes_ = terms_.options.receive_limit();
    format_.use(terms_.options.codec);
    format_.set_max_send_bytes(terms_.options.send_limit());
  }
  void choose_route(call_setup& setup, time_point now);
  void apply_method_config(const method_config& m, time_point now);
  void begin_attempts(const method_config* m, std::string_view secure_authority) {
    if (needs_preparation()) [[unlikely]]
      return prepare_attempts(m, secure_authority);
    make_attempts(m);
  }
  // Whether something may have to be done before the attempts: one test, because as a rule nothing has.
  [[nodiscard]] bool needs_preparation() const noexcept {
    const auto bits = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
    const call_credentials& by = terms_.options.credentials;
    return (bits(by.authorization()) | bits(by.source().get()) | bits(extras_.get())) != 0;
  }
  void prepare_attempts(const method_config* m, std::string_view secure_authority);
  // Attaches the credentials of the call, then begins the attempts.
  void attach_credentials(const method_config* m, std::string_view secure_authority);
  [[nodiscard]] bool add_credentials(const metadata& more);
  void prepare(preparation::work what, const method_config* m, std::string_view secure_authority,
               bool credentials);
  void on_prepared(prepared got) noexcept override;
  void make_attempts(const method_config* m);
  // Lets the channel end the call while the call has neither an exchange nor a place in a queue. Call
  // list_hook::unlink() when that is over.
  void stand_between() noexcept;
  void send_request();
  void send_single_request();
  void send_request_body();
  // gRFC A6, transparent retries. Returns true if another attempt has begun.
  [[nodiscard]] bool retry_transparently(const transport::abnormal_end& end) noexcept;
  // Returns false if the call has ended: `this` may have been destroyed.
  bool take_headers(const protocol::grpc::response_headers& headers, metadata&& of_application,
                    transport::block_kind kind, bool end_stream);
  void take_rest();
  // Returns true if the reply is deferred.
  bool single_reply_data(bytes_view bytes) noexcept;
  bool take_single_reply(bytes_view bytes);
  void bind_owner_loop() noexcept;
  void begin_here(const coro::environment& outer);
  // Runs `f`; ends the call if an allocation fails.
  template <class F>
  void or_end(F f) noexcept {
    if (!base::if_memory_allows(f)) end(rpc::out_of_memory(), false);
  }
  bool continue_message() noexcept override;
  void read_late_reply() noexcept;
  void cancel_late_reply() noexcept;
  // What is wrong with a call whose status is OK.
  [[nodiscard]] status missing_reply() const {
    if (reply_read_ && deframer_.empty() && state_ != call_state::reply_cancelled) [[likely]]
      return {};
    return find_missing_reply();
  }
  [[nodiscard]] status find_missing_reply() const;
  void stream_ended(const protocol::grpc::response_headers& last) noexcept;
  // inside: there is no user code on the stack, and waiters are resumed here; `this` may have been destroyed
  // afterwards.
  void end(status reason, bool inside) noexcept;
  [[nodiscard]] headers_operation*& waiter_of(const headers_operation& op) noexcept;
  void stop_wait(headers_operation* op, const status& outcome) noexcept;
  // Its request has a connection, or is recorded for retries.
  void has_connection() noexcept;
  // Delivers the end of the call to those who wait for it.
  void finish(bool inside) noexcept;
  // Runs when the attempt has ended for the server. The observer gets no more message events afterwards, so
  // messages that have arrived but have not been read yet are reported here.
  void end_watched_attempt() noexcept;
  // Reports the result of the call to the observer, once.
  void notify_observer(const status& outcome) noexcept {
    if (watched_) [[unlikely]]
      notify_ended(outcome);
  }
  void notify_ended(const status& outcome) noexcept;
  void count_for_throttle(status_code code) noexcept;
  [[nodiscard]] bool is_throttled() noexcept;
  void count_kept() noexcept;
  void notify_owner(bool inside) noexcept;

  call_channel& channel_;  // valid until the call has ended: see call_counts
  call_terms terms_;
  call_counts* counts_ = nullptr;
  time_point began_{};
  std::unique_ptr<call_watch> watched_;  // null: no observer
  std::unique_ptr<attempt_watch> watched_attempt_;
  // What few calls have: a call that has none of it makes and destroys one member in place of all.
  struct extras {
    std::shared_ptr<call_filters> filters{};  // of the route
    std::unique_ptr<preparation> preparing{};  // while it is running
    std::unique_ptr<intercepted_message> seen_request{};  // until chain_ begins
    std::unique_ptr<stream_hooks> hooks{};
  };
  [[nodiscard]] extras& extra() {
    if (!extras_) extras_ = std::make_unique<extras>();
    return *extras_;
  }
  std::unique_ptr<extras> extras_;  // outlives attempts_, whose picks look at what filters prefer
  std::unique_ptr<retry_controller> attempts_;  // null: one attempt, this
  std::unique_ptr<stream_chain> chain_;  // null: no interceptors, or they have ended
  // What hold() needs, and holders_.
  struct abandonment : coro::runnable {
    client_call* of = nullptr;
  };
  loop* held_on_ = nullptr;  // both are set once
  std::shared_ptr<call_channel> held_channel_;
  abandonment abandoned_;
  const call_target* target_ = nullptr;  // of the last exchange, until it is retried
  stop_hook on_stop_;
  rpc::child_call child_;  // while the call is open
  std::coroutine_handle<> resume_later_;

  unary_operation* unary_ = nullptr;
  end_operation* end_waiter_ = nullptr;
  headers_operation* headers_waiter_ = nullptr;
  headers_operation* connection_waiter_ = nullptr;
  const rpc::codec* request_codec_ = nullptr;
  const void* request_ = nullptr;
  std::optional<std::string> request_body_;  // of a call with one request and many replies
  status request_failure_;
  const rpc::codec* reply_codec_ = nullptr;
  void* reply_ = nullptr;

  std::shared_ptr<const connection_peer> peer_;
  metadata initial_;
  metadata trailing_;
  status outcome_;
  std::uint64_t too_large_headers_bytes_ = 0;  // not 0: the response headers exceeded the limit
  int http_status_ = 0;
  std::atomic<std::uint32_t> holders_{1};  // the owner counts as one
  call_state state_ = call_state::made;
  bool connected_ = false;  // has_connection() was called
  bool headers_received_ = false;  // response headers have arrived and are valid
  bool reply_read_ = false;
  bool retried_transparently_ = false;
};

}  // namespace coracle::client
