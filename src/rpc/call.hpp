// call: what both sides of a call share: an exchange, received messages and sent messages.
#pragma once

#include "base/hot_and_cold.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/call_traffic.hpp"
#include "coracle/rpc/impl/operations.hpp"
#include "protocol/grpc/deframer.hpp"
#include "rpc/decompression.hpp"
#include "rpc/message_footprint.hpp"
#include "rpc/message_format.hpp"
#include "rpc/message_path.hpp"
#include "transport/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::rpc {

// Where the messages of a call go while it has no exchange of its own. The record outlives the sending of the
// call: a call that gets an exchange stops using its record first.
class request_record {
 public:
  // Records a message with its prefix, or, with no bytes, only the end of the stream. Throws std::bad_alloc.
  virtual void record(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, message_size m,
                      bool end_stream) = 0;
  // Returns how many recorded bytes have not been sent on any connection.
  [[nodiscard]] virtual std::size_t unsent() const noexcept = 0;
  // Requests one call of the call's on_writable() when unsent() has fallen to `low_bytes`.
  virtual void want_room(std::size_t low_bytes) noexcept = 0;

 protected:
  ~request_record() = default;
};

// Receives the message events of a call for an observer. A call without one has a null pointer, which costs
// one branch.
class message_watch {
 public:
  virtual void message_sent(message_size m) noexcept = 0;
  virtual void message_received(message_size m) noexcept = 0;

 protected:
  ~message_watch() = default;
};

// Lives on one loop. Waiters resume directly when bytes or room arrive (there is no user code on the stack
// then), and through the queue of the loop when the call ends for another reason.
class call {
 public:
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  // Called by the operations; returns true if they have to wait.
  bool begin_read(read_operation& op) noexcept;
  void cancel_read() noexcept { reader_ = nullptr; }
  CORACLE_COLD void stop_reading() noexcept;
  bool begin_write(write_operation& op) noexcept;
  void cancel_write() noexcept { writer_ = nullptr; }
  // Returns true if a writer that never had to wait has used its share, so that other tasks of the loop run
  // before it continues.
  bool ends_pump() noexcept;
  CORACLE_COLD void stop_writing() noexcept;
  // Whether the last message that was read was compressed.
  [[nodiscard]] bool read_compressed() const noexcept { return read_compressed_; }

  // --- for messages that pass interceptors
  [[nodiscard]] const message_format& format() const noexcept { return format_; }
  [[nodiscard]] std::uint32_t max_receive_bytes() const noexcept { return max_receive_bytes_; }
  // Decodes a received message. Returns false if that fails, with the reason in `reason`. Throws
  // std::bad_alloc.
  CORACLE_COLD bool decode_message(const codec& k, void* into, bytes_view body, status& reason);
  // An interceptor keeps the bytes of a received message. Returns a status that is not OK if the quota has no
  // room.
  status keep_received(std::size_t bytes) { return hold(bytes); }

 protected:
  enum class incoming : std::uint8_t { open, clean, failed };
  // Messages up to this size are not accounted separately, so that a steady call makes no accounting calls.
  static constexpr std::size_t small_message_bytes = 1024;

  call() noexcept = default;
  ~call();

  // --- implemented by the two sides
  // Called before a message is sent. Returns false if nothing can be sent yet (the write waits) or nothing
  // can be sent any more.
  virtual bool prepare_write() = 0;
  [[nodiscard]] virtual bool sending_over() const noexcept = 0;
  // Called before the message that also ends this side of the stream.
  virtual void no_more_writes() noexcept = 0;
  // A received message is malformed, or a message could not be encoded. Ends the call.
  virtual void messages_broken(status reason) noexcept = 0;
  // The path of the method.
  [[nodiscard]] virtual std::string_view path() const noexcept = 0;
  // The program breaks a rule. `misuse` says which one, and what to do instead: "has two concurrent reads:
  // ...". Ends the call.
  virtual void on_misuse(const char* misuse) noexcept { messages_broken(status::internal(about(misuse))); }
  // A text about this call: "the call of /p.S/M has ...".
  [[nodiscard]] std::string about(const char* what) const;
  // A message has begun to arrive; only a part of it may be there.
  virtual void message_begun() noexcept {}

  // For on_writable() of the derived side.
  void resume_writer() noexcept;

  // Takes bytes of the body: passes them to the waiting reader, or stores them. The reader runs before this
  // returns: `this` may have been destroyed afterwards. Throws std::bad_alloc.
  [[gnu::noinline]] void take_data(bytes_view bytes, bool end_stream);
  // All messages have arrived. If the end is OK, readers get it after the stored messages.
  void incoming_ended() noexcept;
  // If `after_kept`, readers get the stored messages first; otherwise they get the failure at once.
  CORACLE_COLD void incoming_failed(const status& reason, bool after_kept) noexcept;
  void outgoing_failed(const status& reason) noexcept;
  // Ends the wait of the reader if there is something for it; resumes it here if `inside`. Returns true if
  // its message is deferred.
  [[gnu::noinline]] bool serve_reader(bool inside) noexcept;
  [[gnu::noinline]] void retry_writer() noexcept;
  enum class decoded : std::uint8_t { done, failed, deferred };
  // Decodes one message in the format of the call, decompressing it if necessary. failed: the call cannot
  // continue, and `reason` has the reason. deferred: the decode budget of the loop is spent, or the message
  // waits for its share of it. The message then stays in the deframer until continue_message() is called,
  // which requests the same message again.
  decoded read_message(const codec& k, void* into, const protocol::grpc::framed_message& m,
                       status& reason) noexcept;
  // Continues the only message of a call that no task reads. Returns true if the message is deferred again.
  virtual bool continue_message() = 0;
  // leave_connection(): a deferred message no longer waits with its connection, which has lost the call.
  // drop_deferred(): it no longer waits at all.
  CORACLE_COLD void leave_connection() noexcept;
  void drop_deferred() noexcept { deferred_.reset(); }
  [[nodiscard]] bool reader_waits() const noexcept { return reader_ != nullptr; }
  [[nodiscard]] bool writer_waits() const noexcept { return writer_ != nullptr; }
  // Serializes and sends; flow control may queue the message. Returns false if the stream accepts nothing any
  // more, or messages_broken() has ended the call. known_bytes: the size of the message, if it is known.
  // Throws std::bad_alloc, in which case nothing was sent.
  bool send_message(const codec& k, const void* message, bool may_compress, bool end_stream,
                    std::optional<std::size_t> known_bytes = {});
  // Sends a message that message_format::write() has encoded. Compresses it if the format requires it and
  // `may_compress` is set.
  [[gnu::noinline]] bool send_body(bytes_view body, bool may_compress, bool end_stream);
  // Ends this side's stream of messages. Throws std::bad_alloc.
  void send_end();
  // Whether messages can be sent, to the exchange or to a record.
  [[nodiscard]] bool can_send() const noexcept { return exchange_ || record_; }
  void credit(std::size_t n) noexcept;

  transport::exchange exchange_;
  request_record* record_ = nullptr;  // instead of the exchange
  protocol::grpc::deframer deframer_;
  message_format format_;
  std::uint32_t max_receive_bytes_ = 4u << 20;
  std::uint32_t inspected_bytes_min_ = message_footprint::inspected_bytes_min;
  incoming incoming_ = incoming::open;
  // Bytes that have arrived and whose stream credit has not been returned yet.
  std::size_t uncredited_ = 0;
  // The call has one message, and no task reads in pieces: it is expected from the start.
  bool single_message_ = false;
  // A task has written a message, which cannot be obtained again for another attempt.
  bool wrote_ = false;
  message_watch* watch_ = nullptr;  // null: no observer
  // Null: no interceptor looks at these messages, or the interceptors of the call see them elsewhere.
  message_path* receives_ = nullptr;
  message_path* sends_ = nullptr;
  status failure_;
  call_traffic traffic_;
  // The memory of the last message that was read, since its reader is likely to keep it: see
  // message_footprint. 0 for a small one, which is part of what is accounted for every call.
  std::size_t held_bytes_ = 0;

  // Call it when the contents of the deframer have changed or a message was decoded: both count against the
  // peer's connection.
  void note_kept() noexcept {
    const std::size_t now = deframer_.capacity_bytes() + held_bytes_ + deferred_bytes();
    if (now == kept_bytes_ || !exchange_) return;
    exchange_.set_kept(kept_bytes_ = now);
  }
  // Before the exchange is released, if its account must be correct at once.
  void forget_kept() noexcept {
    if (held_bytes_ != 0 && exchange_) exchange_.set_kept(0);
  }
  // Messages of a stream; of a unary call, the recorder knows their sizes from the frames.
  void record_message(bool sent, bool compressed, std::size_t wire_bytes) noexcept {
    if (exchange_)
      exchange_.events().ring().message(sent, exchange_.events().number(), exchange_.recorded_stream(),
                                        compressed, wire_bytes);
  }
  void count_sent(message_size m) noexcept {
    ++traffic_.messages_sent;
    traffic_.bytes_sent += m.wire_bytes;
    if (record_) [[unlikely]]
      return;  // each attempt counts what it sends
    exchange_.count_sent();
    if (watch_) watch_->message_sent(m);
  }
  void count_received(message_size m) noexcept {
    ++traffic_.messages_received;
    if (exchange_) exchange_.count_received();
    traffic_.bytes_received += m.wire_bytes;
    if (watch_) watch_->message_received(m);
  }

 private:
  enum class next_message : std::uint8_t { done, missing, deferred };
  decoded finish_read(read_operation& op, const protocol::grpc::framed_message& message) noexcept;
  next_message take_kept(read_operation& op) noexcept;
  CORACLE_COLD decoded no_memory_to_read(status& reason) noexcept;
  // These throw std::bad_alloc.
  decoded read(const codec& k, void* into, const protocol::grpc::framed_message& m, status& reason);
  decoded parse(const codec& k, void* into, bytes_view body, std::size_t wire_bytes, status& reason);
  bool decode(const codec& k, void* into, bytes_view body, status& reason);
  // For codecs other than protobuf's binary format.
  [[gnu::noinline]] status read_formatted(const codec& k, void* into, bytes_view body);
  [[gnu::noinline]] status admit(const codec& k, const void* into, bytes_view body);
  [[gnu::noinline]] status measure(const codec& k, const void* message, std::size_t body_bytes);
  // Returns a status that is not OK if the quota has no room.
  [[gnu::noinline]] status hold(std::size_t bytes);
  [[gnu::noinline]] decoded read_large(const codec& k, void* into, const protocol::grpc::framed_message& m,
                                       status& reason);
  [[gnu::noinline]] decoded defer();
  [[nodiscard]] transport::decode_budget& budget() noexcept;
  void finish_write(const status& outcome, bool inside) noexcept;
  CORACLE_COLD bool send_intercepted(const codec& k, const void* message, bool may_compress, bool end_stream);
  bool send_encoded(const codec& k, const void* message, bool may_compress, bool end_stream,
                    std::optional<std::size_t> known_bytes);
  [[gnu::noinline]] bool send_formatted(const codec& k, const void* message, bool may_compress,
                                        bool end_stream);
  // Sends a message of that size with its prefix; `put` writes both.
  template <class Put>
  bool send_framed(message_size m, bool end_stream, Put put);
  [[nodiscard]] std::size_t deferred_bytes() const noexcept {
    return deferred_ && deferred_->begun ? deferred_->begun->memory_bytes() : 0;
  }

  // A message that the decode budget did not cover, and its place in the queue of such messages.
  struct deferred_message final : transport::deferred_decode {
    explicit deferred_message(call& c) noexcept : owner(c) {}
    bool continue_decoding() noexcept override;
    call& owner;
    std::optional<decompression> begun;  // partly decompressed
  };

  read_operation* reader_ = nullptr;
  write_operation* writer_ = nullptr;
  std::unique_ptr<deferred_message> deferred_;
  std::size_t kept_bytes_ = 0;
  bool writer_serialized_ = false;
  bool read_compressed_ = false;
  // The totals when the current pump began; they wrap around.
  std::uint32_t pump_messages_ = 0;
  std::uint32_t pump_bytes_ = 0;
};

// Both sides read and send a small message and destroy a call on their steady path: these are here so that
// they become part of it.

inline call::~call() {
  CORACLE_ASSERT(!reader_ && !writer_, "a call was destroyed while a task waits on it");
  if (exchange_) exchange_.release();
}

// Decompressing and decoding a peer's message may need more memory than there is.
inline call::decoded call::read_message(const codec& k, void* into, const protocol::grpc::framed_message& m,
                                        status& reason) noexcept {
  try {
    return read(k, into, m, reason);
  } catch (const std::bad_alloc&) {
    return no_memory_to_read(reason);
  }
}

inline call::decoded call::read(const codec& k, void* into, const protocol::grpc::framed_message& m,
                                status& reason) {
  read_compressed_ = m.compressed;
  if (m.compressed || m.body.size() > small_message_bytes) [[unlikely]]
    return read_large(k, into, m, reason);
  if (exchange_) exchange_.budget().charge_small(m.body.size());
  return parse(k, into, m.body, m.body.size(), reason);
}

inline bool call::decode(const codec& k, void* into, bytes_view body, status& reason) {
  const bool inspected = body.size() > inspected_bytes_min_;
  if (!inspected) held_bytes_ = 0;
  else if (reason = admit(k, into, body); !reason.ok()) return false;
  if (!format_.reads_as_is(k)) reason = read_formatted(k, into, body);
  else if (!k.read(into, body)) reason = format_.unreadable();
  if (reason.ok() && inspected) reason = measure(k, into, body.size());
  return reason.ok();
}

inline call::decoded call::parse(const codec& k, void* into, bytes_view body, std::size_t wire_bytes,
                                 status& reason) {
  count_received({body.size(), wire_bytes});
  if (receives_) [[unlikely]]
    reason = receives_->received(*this, k, into, body);
  else decode(k, into, body, reason);
  return reason.ok() ? decoded::done : decoded::failed;
}

template <class Put>
bool call::send_framed(message_size m, bool end_stream, Put put) {
  count_sent(m);
  const std::size_t whole = m.wire_bytes + protocol::envelope_prefix_bytes;
  if (!record_) [[likely]] {
    if (std::uint8_t* const room = exchange_.reserve_data(whole)) {
      put(room);
      exchange_.commit_data(whole, end_stream);
      return true;
    }
  }
  std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[whole]);
  put(bytes.get());
  if (!record_) return exchange_.queue_data(std::move(bytes), whole, end_stream);
  record_->record(std::move(bytes), whole, m, end_stream);
  return record_ || exchange_;  // neither: the last attempt failed, and with it the call
}

inline bool call::send_encoded(const codec& k, const void* message, bool may_compress, bool end_stream,
                               std::optional<std::size_t> known_bytes) {
  if (!format_.writes_as_is(k)) return send_formatted(k, message, may_compress, end_stream);
  const std::size_t size = known_bytes ? *known_bytes : k.size_bytes(message);
  if (size > format_.max_send_bytes()) {
    messages_broken(too_large_to_send(size, format_.max_send_bytes()));
    return false;
  }
  return send_framed({size, size}, end_stream, [&](std::uint8_t* to) {
    protocol::write_envelope_prefix(to, 0, static_cast<std::uint32_t>(size));
    k.write(message, to + protocol::envelope_prefix_bytes);
  });
}

inline bool call::send_message(const codec& k, const void* message, bool may_compress, bool end_stream,
                               std::optional<std::size_t> known_bytes) {
  if (sends_) [[unlikely]]
    return send_intercepted(k, message, may_compress, end_stream);
  return send_encoded(k, message, may_compress, end_stream, known_bytes);
}

// Returns the status for a received message that breaks the rules of the state `s`.
status broken_message(protocol::grpc::deframer::state s, bytes_view message, std::uint32_t limit);

}  // namespace coracle::rpc
