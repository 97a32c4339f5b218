// call: what both sides of a call share: an exchange, messages in, messages out.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/rpc/call_traffic.hpp"
#include "coracle/rpc/impl/operations.hpp"
#include "coracle/rpc/message_size.hpp"
#include "protocol/grpc/deframer.hpp"
#include "rpc/message_format.hpp"
#include "rpc/request_record.hpp"
#include "rpc/unpacking.hpp"
#include "transport/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace coracle::rpc {

// A call has one when an observer watches it, else null: one branch.
class message_watch {
 public:
  virtual void message_sent(message_size m) noexcept = 0;
  virtual void message_received(message_size m) noexcept = 0;

 protected:
  ~message_watch() = default;
};

// Lives on one loop. Waiters resume on the spot when bytes or room arrive (no user code is below on
// the stack then), and through the loop's queue when the call ends for another reason.
class call {
 public:
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  // From the operations: true when they have to wait.
  bool begin_read(read_operation& op) noexcept;
  void abandon_read() noexcept { reader_ = nullptr; }
  [[gnu::cold, gnu::noinline]] void stop_reading() noexcept;
  bool begin_write(write_operation& op) noexcept;
  void abandon_write() noexcept { writer_ = nullptr; }
  // True when a writer that never had to wait has had its share, and others of the loop have a turn before it goes on.
  bool ends_pump() noexcept;
  [[gnu::cold, gnu::noinline]] void stop_writing() noexcept;
  // The message that was read last came compressed.
  [[nodiscard]] bool read_compressed() const noexcept { return read_compressed_; }

 protected:
  enum class incoming : std::uint8_t { open, clean, failed };
  // A message up to this is not counted apart: a steady call says nothing about memory.
  static constexpr std::size_t small_message_bytes = 1024;

  call() noexcept = default;
  ~call();

  // A derived side's part.
  // Called before a message is sent: false when nothing can be sent yet (the write waits) or any more.
  virtual bool prepare_write() = 0;
  [[nodiscard]] virtual bool sending_over() const noexcept = 0;
  // Called before the message that its side of the stream ends with is sent.
  virtual void no_more_writes() noexcept = 0;
  // A message of the peer's cannot be understood, or one of ours not be written; ends the call.
  virtual void messages_broken(status why) noexcept = 0;
  // The program's own side breaks the rules: `how`, a literal, says how and what to do instead. Ends the call.
  virtual void misused(const char* how) noexcept { messages_broken(status::internal(how)); }
  // Of a message, only a part may be there.
  virtual void message_begun() noexcept {}

  // For the derived side's on_writable().
  void room_again() noexcept;

  // Bytes of a body: to the waiting reader, or kept. The reader runs inside: `this` may be gone after.
  // Throws std::bad_alloc.
  [[gnu::noinline]] void take_data(bytes_view bytes, bool end_stream);
  // Every message has arrived. With an OK end, readers see it once they have read what is kept.
  void incoming_ended() noexcept;
  // Readers see what is kept first if `after_kept`, else the failure at once.
  [[gnu::cold, gnu::noinline]] void incoming_failed(const status& why, bool after_kept) noexcept;
  void outgoing_failed(const status& why) noexcept;
  // Ends the reader's wait if there is something for it; resumes it inside when `inside`.
  // True: its message is deferred.
  [[gnu::noinline]] bool serve_reader(bool inside) noexcept;
  [[gnu::noinline]] void retry_writer() noexcept;
  enum class decoded : std::uint8_t { done, failed, deferred };
  // Parses one message as the call's format says, decompressing it first if need be. failed: the call cannot go on, and
  // `why` says the reason. deferred: the loop's decode budget is spent, or the message waits for its share; the message stays
  // in the deframer until continue_message() is called, which asks for the same message again.
  decoded read_message(const codec& k, void* into, const protocol::grpc::framed_message& m,
                       status& why) noexcept;
  // The one message of a call whose reader is no task. True: the message is deferred again.
  virtual bool continue_message() = 0;
  // A deferred message waits no longer for its connection, which has lost the call; or for nothing any more.
  [[gnu::cold, gnu::noinline]] void leave_connection() noexcept;
  void drop_deferred() noexcept { deferred_.reset(); }
  [[nodiscard]] bool reader_waits() const noexcept { return reader_ != nullptr; }
  // Serializes and sends; flow control may queue it. False when the stream takes nothing any more, and when
  // messages_broken() has ended the call.
  // known_bytes: the message's size, if it is known already. Throws std::bad_alloc, and has sent nothing.
  bool send_message(const codec& k, const void* message, bool may_pack, bool end_stream,
                    std::optional<std::size_t> known_bytes = {});
  // The same for one that message_format::write() has made. Compresses it if the format says so and `may_pack`.
  [[gnu::noinline]] bool send_body(bytes_view body, bool may_pack, bool end_stream);
  // Ends this side's stream of messages. Throws std::bad_alloc.
  void send_end();
  // Where messages go: to the exchange, or to a record.
  [[nodiscard]] bool can_send() const noexcept { return exchange_ || record_; }
  void credit(std::size_t n) noexcept;

  transport::exchange exchange_;
  request_record* record_ = nullptr;  // in the exchange's place
  protocol::grpc::deframer deframer_;
  message_format format_;
  std::uint32_t max_receive_bytes_ = 4u << 20;
  incoming incoming_ = incoming::open;
  // Bytes that arrived and whose stream credit was not given back yet.
  std::size_t uncredited_ = 0;
  // Nobody reads in pieces: the one message is waited for from the start.
  bool single_message_ = false;
  // A task has written a message: it cannot be had again.
  bool wrote_ = false;
  message_watch* watch_ = nullptr;  // null: nobody observes
  status failure_;
  call_traffic traffic_;
  // What the message that was read last takes in memory, since its reader is likely to hold it: see message_footprint. 0 for a
  // small one, which is within what every call counts.
  std::size_t held_bytes_ = 0;

  // After the deframer has taken something in or given it away, or a message was decoded: both count against the
  // peer's connection.
  void note_kept() noexcept {
    const std::size_t now = deframer_.capacity_bytes() + held_bytes_ + deferred_bytes();
    if (now == kept_bytes_ || !exchange_) return;
    exchange_.set_kept(kept_bytes_ = now);
  }
  // Before the exchange is released, when its account is to be right at once.
  void forget_kept() noexcept {
    if (held_bytes_ != 0 && exchange_) exchange_.set_kept(0);
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
  enum class next_message : std::uint8_t { settled, missing, deferred };
  decoded settle_read(read_operation& op, const protocol::grpc::framed_message& message) noexcept;
  next_message take_kept(read_operation& op) noexcept;
  [[gnu::cold, gnu::noinline]] decoded no_memory_to_read(status& why) noexcept;
  // These throw std::bad_alloc.
  decoded read(const codec& k, void* into, const protocol::grpc::framed_message& m, status& why);
  decoded parse(const codec& k, void* into, bytes_view body, std::size_t wire_bytes, status& why);
  [[gnu::noinline]] status admit(const codec& k, const void* into, bytes_view body);
  [[gnu::noinline]] status measure(const codec& k, const void* message, std::size_t body_bytes);
  // Not ok: the quota has no room.
  [[gnu::noinline]] status hold(std::size_t bytes);
  [[gnu::noinline]] decoded read_large(const codec& k, void* into, const protocol::grpc::framed_message& m,
                                       status& why);
  [[gnu::noinline]] decoded defer();
  [[nodiscard]] transport::decode_budget& budget() noexcept;
  void write_settled(const status& how, bool inside) noexcept;
  [[gnu::noinline]] bool send_formatted(const codec& k, const void* message, bool may_pack, bool end_stream);
  // A message of that size with its prefix, which `put` writes.
  template <class Put>
  bool send_framed(message_size m, bool end_stream, Put put);
  [[nodiscard]] std::size_t deferred_bytes() const noexcept {
    return deferred_ && deferred_->begun ? deferred_->begun->memory_bytes() : 0;
  }

  // A message that the decode budget did not cover, and its place among those that wait.
  struct deferred_message final : transport::deferred_decode {
    explicit deferred_message(call& c) noexcept : owner(c) {}
    bool continue_decoding() noexcept override;
    call& owner;
    std::optional<unpacking> begun;  // decompressed in part
  };

  read_operation* reader_ = nullptr;
  write_operation* writer_ = nullptr;
  std::unique_ptr<deferred_message> deferred_;
  std::size_t kept_bytes_ = 0;
  bool writer_serialized_ = false;
  bool read_compressed_ = false;
  // What had been sent when the present pump began; they wrap.
  std::uint32_t pump_messages_ = 0;
  std::uint32_t pump_bytes_ = 0;
};

// A message that a peer sent breaks the rules of `s`.
status broken_message(protocol::grpc::deframer::state s, std::uint32_t limit);

}  // namespace coracle::rpc
