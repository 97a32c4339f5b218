// server_call: the server's side of one call, from its request headers to its trailers.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/server/impl/method.hpp"
#include "coracle/server/server_context.hpp"
#include "coracle/server/service.hpp"
#include "protocol/grpc/accepted_encodings.hpp"
#include "rpc/call.hpp"
#include "server/call/call_extras.hpp"
#include "server/call/call_handler.hpp"
#include "server/call/call_request.hpp"
#include "server/call/call_set.hpp"
#include "server/call/message_arena.hpp"
#include "server/call/received_metadata.hpp"
#include "server/call/server_interceptor_chain.hpp"
#include "server/call/server_watch.hpp"
#include "server/router.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::server_internal {

// Owns itself: it is destroyed when the handler and the exchange have both ended, in either order. Its memory
// comes from the loop's frame pool.
class server_call final : public rpc::call,
                          public call_handler,
                          public server_context,
                          public base::list_hook,
                          public coro::pooled,
                          private coro::timer {
 public:
  // `fallback` is null for a registered method.
  server_call(transport::exchange x, const call_request& request, time_point deadline,
              std::unique_ptr<fallback_call> fallback, received_metadata received, call_set& set);

  // The request headers are complete. The handler starts now (streams) or with its request; the interceptors
  // start at once.
  void begin(bool end_stream);
  // Cancels the call; the drain's grace has passed.
  void cancel(const status& reason) noexcept;
  // The call has waited, and counts for the limit of its loop now. It may end within.
  void on_admitted() noexcept;
  // The call has waited in vain. Destroys this object unless an interceptor runs.
  void on_rejected(bool too_late) noexcept;

  // Whether the call could end in time was tested, and it was permitted all the same.
  void permit_late() noexcept;

  // See finish() in method.hpp.
  bool finish_with(std::coroutine_handle<> frame, const rpc::codec& k, const void* reply) noexcept;
  bool finish_with(std::coroutine_handle<> frame, const status& reason) noexcept;
  bool finish_with_nothing(std::coroutine_handle<> frame) noexcept;
  // The status for the client after an exception of the handler or an interceptor (`subject`). Logs the
  // exception, unless it says that the call or the wait was stopped, or is a status_error, whose status the
  // client gets unchanged.
  [[nodiscard]] status status_of_exception(const std::exception_ptr& error,
                                           std::string_view subject) noexcept;
  // Logs a defect of the handler or an interceptor: "the handler of /p.S/M <text>". Returns INTERNAL, for the
  // client.
  [[nodiscard]] status defect(std::string_view subject, std::string_view text,
                              std::string_view for_client) noexcept;
  // Logs that the response lacks what the client does not accept.
  void log_left_out(std::string_view what, std::size_t limit_bytes) noexcept;
  void send_headers();
  [[nodiscard]] google::protobuf::Arena& arena();
  [[nodiscard]] bool request_in_arena() const noexcept { return row_.request_in_arena; }
  [[nodiscard]] const net::address& local_address() const noexcept {
    static const net::address unknown;
    return exchange_ ? exchange_.local_address() : unknown;
  }
  [[nodiscard]] std::shared_ptr<const void> mark_of_connection() const noexcept {
    return exchange_ ? exchange_.mark() : nullptr;
  }
  [[nodiscard]] std::string_view subtype_name() const noexcept { return subtype_.name; }
  [[nodiscard]] server_interceptor_chain* interceptor_chain() const noexcept {
    return interceptor_chain_.get();
  }
  [[nodiscard]] call_traffic exchanged() const noexcept;
  [[nodiscard]] std::optional<call_cost> measured_cost() const noexcept;
  [[nodiscard]] load_report& recorded_load();
  // Why nothing of this call runs; `other` if the call itself does not know.
  [[nodiscard]] rpc::call_wait waits_for() const noexcept;
  [[nodiscard]] bool permits_take(const void* request);

  // --- called by the interceptor chain
  void begin_body() noexcept { body_->begin(*row_.target, *this); }
  void run_handler_in(const coro::environment& e) noexcept { environment_ = &e; }
  [[nodiscard]] bool one_request() const noexcept { return single_message_; }
  [[nodiscard]] bool one_reply() const noexcept {
    return row_.definition->kind == call_kind::unary || row_.definition->kind == call_kind::client_streaming;
  }
  [[nodiscard]] const rpc::message_type& reply_type() const noexcept { return *row_.definition->reply; }
  // Messages pass `p` from now on, except the one reply, which the interceptor chain holds.
  void pass_messages_by(rpc::message_path& p) noexcept {
    receives_ = &p;
    if (!one_reply()) sends_ = &p;
  }
  // The one request may be decoded now: decodes it if it has arrived. May end the call.
  void take_kept_request() noexcept;
  [[nodiscard]] const coro::environment& own_environment() const noexcept { return own_environment_; }
  // Finishes the call with the chain's status; `k` is null if no handler gave a reply. Destroys this object.
  void chain_ended(const status& outcome, const rpc::codec* k, const void* reply) noexcept;

  // call_handler
  [[nodiscard]] server_call& call() noexcept override { return *this; }
  void on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) override;
  void on_data(bytes_view bytes, bool end_stream) override;
  void on_writable() noexcept override { resume_writer(); }
  void on_uncongested() override;
  void on_reset(const transport::abnormal_end& end) noexcept override;

 private:
  enum class request_state : std::uint8_t { incomplete, whole, read };
  // Whether the one request may be decoded once it has arrived. It may not while no interceptor has asked for
  // it, nor for a peer that does not read its replies: decoding may expand the bytes a thousandfold.
  enum class decoding : std::uint8_t { permitted, not_requested, congested };
  // What take_request() did. kept: the request has arrived, and may not be decoded yet. deferred: it waits
  // for its share of the decode budget. decoded: the handler starts, now or with the end of the request.
  // ended: the request is invalid. After decoded and ended this object may be gone.
  enum class request_outcome : std::uint8_t { incomplete, kept, deferred, decoded, ended };
  ~server_call();
  bool prepare_write() override;
  [[nodiscard]] bool sending_over() const noexcept override { return !exchange_; }
  void no_more_writes() noexcept override {}  // the server's side ends with the status
  void messages_broken(status reason) noexcept override;
  void on_misuse(const char* misuse) noexcept override;
  [[nodiscard]] std::string_view path() const noexcept override { return method_; }
  void message_begun() noexcept override;

  // One timer enforces the deadline and checks a partly received message once per stall_time.
  void on_time() noexcept;
  void arm_timer() noexcept;
  void note_progress() noexcept;
  [[nodiscard]] bool message_is_due() const noexcept;
  void single_request_data(bytes_view bytes, bool end_stream);
  [[nodiscard]] decoding request_decoding() const noexcept {
    if (interceptor_chain_ && !interceptor_chain_->wants_request()) return decoding::not_requested;
    return congested() ? decoding::congested : decoding::permitted;
  }
  // `bytes` is everything received so far, which the deframer holds unless it is empty.
  request_outcome take_request(bytes_view bytes, decoding may);
  // The request has arrived, and something limits the call. decoded: it may go on.
  request_outcome request_admission() noexcept;
  // The same with what the deframer holds, after decoding was not permitted or was deferred.
  request_outcome resume_request() { return take_request(deframer_.kept(), request_decoding()); }
  // decoded::failed: the call has ended, and this object may be gone.
  decoded decode_request(const protocol::grpc::framed_message& m);
  bool continue_message() override;
  // The same after the call has waited for something. It may end within.
  void resume_after_wait() noexcept;
  void start_handler() noexcept;
  [[nodiscard]] bool takes_place() noexcept;
  // The request is decoded, and the client has not ended its side: the handler starts when that end comes, or
  // a moment later without it.
  void start_handler_soon() noexcept;
  void take_whole_request();
  void begin_stream() noexcept;
  void run_handler() noexcept;
  [[nodiscard]] bool congested() const noexcept { return exchange_ && exchange_.congested(); }
  void request_uncongested() noexcept;
  bool wait_until_uncongested() noexcept;
  // Orphans the call: the handler may outlive the connection from now on.
  void become_orphan() noexcept;
  // Logs the text that `make` appends to "the handler of /p.S/M ".
  template <class Make>
  void log_defect(std::string_view subject, std::string_view kind, Make make) noexcept;
  // Sends the status to the client, and stops the handler, which may still run.
  void end_early(const status& reason) noexcept;
  void send_reply(const rpc::codec& k, const void* reply, const status& outcome) noexcept;
  // Sets `bytes` to the size of the reply if it computes it.
  [[nodiscard]] bool send_plain_reply(const rpc::codec& k, const void* reply, const status& outcome,
                                      std::optional<std::size_t>& bytes);
  // If there is no memory for the status, resets the stream, which the client maps to RESOURCE_EXHAUSTED.
  void send_status(const status& reason) noexcept;
  void send_trailers(const status& reason);
  // `reason` with the trailing metadata, if that is more than the client accepts.
  void send_fitted_trailers(const status& reason, std::size_t limit_bytes);
  // The same for an exchange that is no stream of HTTP/2.
  void send_headers_as_fields(encoding sent, encoding received);
  void send_trailers_as_fields(const status& reason);
  // `frame`: the handler's frame, to be destroyed; null if the interceptor chain owns it or there is none.
  void handler_done(std::coroutine_handle<> frame) noexcept;
  // Gives the request and the replies that the handler made back to the loop's store.
  void give_back_messages() noexcept;
  void give_back_replies() noexcept;
  void end_call() noexcept;
  void end_with_extras() noexcept;
  void give_back_all() noexcept;
  void record_begin(const transport::exchange& x) noexcept;
  // Before the exchange is released.
  void record_end(status_code code) noexcept;
  // Notifies the observer, if there is one; once.
  void report_end(const status& outcome) noexcept;
  void report_end_here(const status& outcome) noexcept;
  void report_intercepted_end(const status& outcome) noexcept;

  [[nodiscard]] bool is_orphan() const noexcept { return extras_ && extras_->orphan; }
  [[nodiscard]] call_extras& extras();
  // Measures the call from now on, if it is one of those that are, and if there is memory for that.
  void begin_extras() noexcept;
  [[nodiscard]] std::string load_to_report();
  // Adds to the trailing metadata what the extras say. Throws std::bad_alloc.
  void add_extra_trailers();
  [[nodiscard]] bool adds_trailers() const noexcept;

  const served_method& row_;
  const subtype& subtype_;
  encoding_set accepted_;
  call_set& set_;
  received_metadata shared_;  // stores the context's metadata()
  std::unique_ptr<fallback_call> fallback_;
  std::unique_ptr<const std::string> own_authority_;  // null while authority() is that of the connection
  std::unique_ptr<message_arena> arena_;
  std::unique_ptr<handler_body> body_;
  std::unique_ptr<server_interceptor_chain> interceptor_chain_;  // null: no interceptors
  std::optional<server_watch> watched_;  // none: no observer
  std::unique_ptr<call_extras> extras_;  // null: no orphan, not measured
  const void* sent_ = nullptr;  // the one reply, once it was sent
  time_point check_at_ = never;
  // What had arrived at the last check, if a message was due.
  std::uint64_t seen_messages_ = 0;
  std::size_t seen_bytes_ = 0;
  bool watching_ = false;  // the observer has not been notified of the end
  bool handler_running_ = false;
  bool starts_soon_ = false;  // check_at_ is the time of start_handler()
  bool end_awaited_ = false;  // for long enough, and in vain
  bool started_ = false;  // start_handler() has begun its work
  bool headers_sent_ = false;
  bool request_taken_ = false;
  bool waiting_uncongested_ = false;
  request_state request_ = request_state::incomplete;  // of the one request message
  bool request_ended_ = false;  // the client has half-closed the stream
};

}  // namespace coracle::server_internal
