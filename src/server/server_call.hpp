// server_call: a server's side of one call, from its head to its trailers.
#pragma once

#include "base/repeated_line.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/pooled.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/server/impl/message_store.hpp"
#include "coracle/server/impl/method.hpp"
#include "coracle/server/server_context.hpp"
#include "coracle/server/server_observer.hpp"
#include "coracle/server/service.hpp"
#include "protocol/grpc/accepted_encodings.hpp"
#include "rpc/call.hpp"
#include "server/interception.hpp"
#include "server/router.hpp"

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace google::protobuf {
class Arena;
}

namespace coracle::server_internal {

// Belongs to the call; made only where there is an observer.
class server_watch final : public rpc::message_watch, public coro::pooled {
 public:
  server_watch(server_observer& o, server_context& c) noexcept : observer_(o), call_(c) {
    call_.began = coro::this_executor().now();
    observer_.call_started(call_);
  }
  void head_sent() noexcept { observer_.head_sent(call_); }
  void ended(const status& how) noexcept { observer_.call_ended(call_, how, coro::this_executor().now()); }

  // rpc::message_watch
  void message_sent(message_size m) noexcept override { observer_.message_sent(call_, m); }
  void message_received(message_size m) noexcept override { observer_.message_received(call_, m); }

 private:
  server_observer& observer_;
  served_call call_;
};

// A protobuf arena over a block that grows to what the calls before have needed, within bounds. Lives on a loop.
class message_arena {
 public:
  message_arena();
  message_arena(const message_arena&) = delete;
  message_arena& operator=(const message_arena&) = delete;
  ~message_arena();

  [[nodiscard]] google::protobuf::Arena& get() noexcept;
  // Destroys what is in it.
  void reset();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// A handle to metadata that does not change once it is shared. Of one loop, so that handles are counted without atomics.
class received_metadata {
 public:
  received_metadata() noexcept = default;
  [[nodiscard]] static received_metadata make() {
    received_metadata m;
    m.block_ = new block;
    return m;
  }
  received_metadata(const received_metadata& other) noexcept : block_(other.block_) {
    if (block_) ++block_->handles;
  }
  received_metadata(received_metadata&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  received_metadata& operator=(received_metadata other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~received_metadata() {
    if (block_ && --block_->handles == 0) delete block_;
  }

  // Of a handle that make() gave, or a copy of one.
  [[nodiscard]] const metadata& get() const noexcept { return block_->fields; }
  [[nodiscard]] bool is_shared() const noexcept { return block_ && block_->handles > 1; }
  // To fill it; not while it is shared.
  [[nodiscard]] metadata& own() noexcept { return block_->fields; }

 private:
  struct block {
    metadata fields;
    std::uint32_t handles = 1;
  };
  block* block_ = nullptr;
};

class server_call;

// The calls of one loop of a server. Must outlive them.
class call_set {
 public:
  base::intrusive_list<server_call> running;
  std::size_t count = 0;
  // Those of all loops of the server, in which whoever makes a call counts it. Null where nothing limits them.
  std::atomic<std::size_t>* of_server = nullptr;
  // Of these: ended for their clients, while their handlers still run.
  std::size_t abandoned = 0;
  // What the messages of those hold, which no connection counts any more. Above the limit no large request is decoded.
  std::size_t abandoned_bytes = 0;
  std::size_t abandoned_bytes_max = std::numeric_limits<std::size_t>::max();
  // Of all there ever were: answered with OK, and otherwise.
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  server_observer* observer = nullptr;
  // Of requests.
  encoding_set accepted = encoding_set::all();
  std::uint32_t max_receive_bytes = 4u << 20;
  // Of replies.
  std::uint32_t max_send_bytes = std::numeric_limits<std::uint32_t>::max();
  coracle::compression compression;
  const std::vector<server_interceptor*>* interceptors = nullptr;
  // A message that is waited for and of which fewer bytes come in such a time ends its call.
  duration stall_time = duration::max();
  std::size_t stall_bytes = 1;
  // Requested when the server begins to drain.
  coro::stop_source draining;
  // Called when count has sunk to 0; may be null.
  void (*emptied)(call_set&) noexcept = nullptr;
  // Called when abandoned_bytes has changed, with what it was before; may be null.
  void (*abandoned_changed)(call_set&, std::size_t before) noexcept = nullptr;
  void set_abandoned_bytes(std::size_t now) noexcept {
    const std::size_t before = std::exchange(abandoned_bytes, now);
    if (abandoned_changed && now != before) abandoned_changed(*this, before);
  }
  // For lines about the handler of the method whose path lies at `path`, or of no registered method (null). Each method
  // has its own limit of a line in ten seconds: one that fails at every call does not hide another.
  [[nodiscard]] repeated_line& defect_line(const char* path) { return defect_lines_[path]; }
  // Metadata, to be filled, whose memory the next calls use.
  received_metadata take_metadata();
  void give_back(received_metadata m) noexcept;
  // Likewise arenas.
  std::unique_ptr<message_arena> take_arena();
  void give_back(std::unique_ptr<message_arena> a) noexcept;
  // Likewise small messages, with what is around them.
  message_store messages;

 private:
  std::vector<received_metadata> spare_;
  std::vector<std::unique_ptr<message_arena>> spare_arenas_;
  std::unordered_map<const char*, repeated_line> defect_lines_;
};

// Owns itself: ends when the handler has ended and the exchange too, in either order. Memory comes
// from the loop's frame pool.
class server_call final : public rpc::call,
                          public transport::exchange_handler,
                          public server_context,
                          public base::list_hook,
                          public coro::pooled,
                          private coro::timer {
 public:
  // foreign: null for a registered method.
  [[gnu::hot, gnu::flatten]] server_call(transport::exchange x, const request_head& head, time_point deadline,
                                         std::unique_ptr<foreign_call> foreign, received_metadata received,
                                         call_set& set);

  // The head is complete; the handler starts now (streams) or with its request, the interceptors at once.
  void begin(bool end_stream);
  // The drain's grace is over.
  [[gnu::cold, gnu::noinline]] void cancel(const status& why) noexcept;

  // See method.hpp's finish().
  [[gnu::hot, gnu::flatten]] bool finish_with(std::coroutine_handle<> frame, const rpc::codec& k,
                                              const void* reply) noexcept;
  bool finish_with(std::coroutine_handle<> frame, const status& why) noexcept;
  [[gnu::cold, gnu::noinline]] bool finish_with_nothing(std::coroutine_handle<> frame) noexcept;
  // What the client is told of an exception of the handler's or an interceptor's (`whose`). Logs it, unless it says that
  // the call or the wait was stopped, or is a status_error, which the client gets whole.
  [[gnu::cold, gnu::noinline]] [[nodiscard]] status status_of_exception(const std::exception_ptr& error,
                                                                        std::string_view whose) noexcept;
  // Logs a defect of the handler's or an interceptor's: "the handler of /p.S/M <text>". INTERNAL, for the client.
  [[gnu::cold, gnu::noinline]] [[nodiscard]] status defect(std::string_view whose, std::string_view text,
                                                           std::string_view for_client) noexcept;
  [[gnu::noinline]] void send_head();
  [[gnu::noinline]] [[nodiscard]] google::protobuf::Arena& arena();
  [[nodiscard]] bool request_in_arena() const noexcept { return row_.request_in_arena; }
  [[nodiscard]] std::string_view subtype_name() const noexcept { return subtype_.name; }
  [[nodiscard]] interception* around() const noexcept { return interception_.get(); }
  [[nodiscard]] call_traffic exchanged() const noexcept;
  [[gnu::noinline]] [[nodiscard]] bool lets_take(const void* request);

  // --- from the interception
  void begin_body() noexcept { body_->begin(*row_.target, *this); }
  void run_handler_in(const coro::environment& e) noexcept { environment_ = &e; }
  [[nodiscard]] const coro::environment& own_environment() const noexcept { return own_environment_; }
  // What becomes of the call; `k` is null where no handler gave a reply. This is gone.
  void chain_ended(const status& how, const rpc::codec* k, const void* reply) noexcept;

  // transport::exchange_handler
  [[gnu::noinline]] void on_headers(transport::header_source& fields, transport::block_kind kind,
                                    bool end_stream) override;
  [[gnu::hot, gnu::flatten]] void on_data(bytes_view bytes, bool end_stream) override;
  void on_writable() noexcept override { room_again(); }
  void on_turn() override;
  [[gnu::cold, gnu::noinline]] void on_reset(const transport::abnormal_end& end) noexcept override;

 private:
  enum class request_state : std::uint8_t { incomplete, whole, read };
  ~server_call();
  bool prepare_write() override;
  [[nodiscard]] bool sending_over() const noexcept override { return !exchange_; }
  void no_more_writes() noexcept override {}  // its side ends with the status
  [[gnu::cold, gnu::noinline]] void messages_broken(status why) noexcept override;
  [[gnu::cold, gnu::noinline]] void misused(const char* how) noexcept override;
  void message_begun() noexcept override;

  [[nodiscard]] bool one_reply() const noexcept {
    return row_.what->kind == call_kind::unary || row_.what->kind == call_kind::client_streaming;
  }
  // A clock for the deadline and for a message that has begun: it is looked at once a stall_time as long as there is one.
  [[gnu::cold, gnu::noinline]] void on_time() noexcept;
  void arm_timer() noexcept;
  [[gnu::noinline]] void note_progress() noexcept;
  [[nodiscard]] bool message_is_due() const noexcept;
  void single_request_data(bytes_view bytes, bool end_stream);
  // True: the message is deferred.
  bool take_request(bytes_view bytes, bool kept);
  // failed: the call has ended, and may be gone.
  decoded decode_request(const protocol::grpc::framed_message& m);
  bool continue_message() override;
  void start_handler() noexcept;
  [[gnu::noinline]] void begin_stream() noexcept;
  void run_handler() noexcept;
  bool wait_turn() noexcept;
  // The handler may outlive the connection from now on.
  [[gnu::cold, gnu::noinline]] void run_on() noexcept;
  // With what `make` gives: "the handler of /p.S/M ...".
  template <class Make>
  void log_defect(std::string_view whose, Make make) noexcept;
  // Tells the client, stops the handler, which may still run.
  [[gnu::cold, gnu::noinline]] void end_early(const status& why) noexcept;
  void send_reply(const rpc::codec& k, const void* reply, const status& how) noexcept;
  // `bytes` becomes its size when it was asked for.
  [[nodiscard]] bool send_plain_reply(const rpc::codec& k, const void* reply, const status& how,
                                      std::optional<std::size_t>& bytes);
  // Without memory for it the stream is reset, which tells the client RESOURCE_EXHAUSTED.
  [[gnu::noinline]] void send_status(const status& why) noexcept;
  [[gnu::noinline]] void send_trailers(const status& why);
  // `frame`: the handler's, to be destroyed; null where somebody else has it, or there is none.
  void handler_done(std::coroutine_handle<> frame) noexcept;
  // The request and the replies that the handler made, to the loop's store.
  void give_back_messages() noexcept;
  [[gnu::noinline]] void give_back_replies() noexcept;
  void leave() noexcept;
  // To the observer, if there is one; once.
  [[gnu::noinline]] void tell_end(const status& how) noexcept;

  // Of a call that has ended before its handler.
  struct remnant {
    net::address peer;
    std::shared_ptr<const auth_context> auth;
    std::shared_ptr<std::size_t> of_connection;  // its connection's count of such, which may outlive it
    std::size_t bytes = 0;  // its part of the set's
  };

  const served_method& row_;
  const subtype& subtype_;
  encoding_set accepted_;
  call_set& set_;
  received_metadata shared_;  // what the context's metadata() lies in
  std::unique_ptr<foreign_call> foreign_;
  std::unique_ptr<message_arena> arena_;
  std::unique_ptr<handler_body> body_;
  std::unique_ptr<interception> interception_;  // null: no interceptors
  std::unique_ptr<server_watch> watched_;
  std::unique_ptr<remnant> remnant_;  // null before run_on()
  const void* sent_ = nullptr;  // the one reply, once it was sent
  time_point look_at_ = never;
  // What had come at the last look of a message that was waited for.
  std::uint64_t seen_messages_ = 0;
  std::size_t seen_bytes_ = 0;
  bool handler_running_ = false;
  bool head_sent_ = false;
  bool request_taken_ = false;
  bool waiting_turn_ = false;
  request_state request_ = request_state::incomplete;  // of the one request message
  bool request_ended_ = false;  // the client's side of the stream
};

}  // namespace coracle::server_internal
