// stream: a call that other threads read, write and end; the coroutines of its loop do the work.
#pragma once

#include "coracle/coro/event.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/write_options.hpp"
#include "coracle/runtime/loop.hpp"

#include "completion.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace coracle::c_abi {

class stream;

// What a handle of a call stands for.
class call_object {
 public:
  static constexpr handle_kind kind_of_handle = handle_kind::call;
  virtual ~call_object() = default;
  virtual void cancel() = 0;
  // The handle was closed.
  virtual void released() noexcept = 0;
  [[nodiscard]] virtual bool has_ended() const noexcept = 0;
  // The path of the method.
  [[nodiscard]] virtual const std::string& path() const noexcept = 0;
  // On the loop: a callback of the call has thrown, which ends the call.
  virtual void on_callback_exception() noexcept = 0;
  // Null: a unary call of a client.
  [[nodiscard]] virtual stream* as_stream() noexcept { return nullptr; }
};

// A message on its way out.
class outgoing : public completion {
 public:
  outgoing(const destination& to, bytes_message m, write_options o, bool is_last)
      : completion(CORACLE_EVENT_WRITE, to), sent(std::move(m)), options(o), last(is_last) {}
  bytes_message sent;
  const write_options options;
  const bool last;
};

// How a server's call ends.
struct answer {
  status outcome;
  bytes_message message;
  bool has_message = false;
  metadata trailing;
};

// The state of a streaming call that both sides share. Commands of any thread go through the inbox to the loop
// of the call; everything else belongs to that loop. The coroutine of the call, which keeps this object, ends
// when the handle is released (client), or when the call was answered or its client ended it (server); later
// commands fail with CORACLE_SHUT_DOWN, or are dropped where that is said.
class stream : public call_object, private coro::runnable, public std::enable_shared_from_this<stream> {
 public:
  stream(std::shared_ptr<shared_runtime> of, loop& where, std::string path) noexcept
      : runnable{&stream::arrived},
        owner_(std::move(of)),
        where_(where),
        path_(std::move(path)),
        read_wake_(where),
        write_wake_(where),
        headers_wake_(where) {}

  [[nodiscard]] stream* as_stream() noexcept final { return this; }
  [[nodiscard]] const shared_runtime& owner() const noexcept { return *owner_; }
  [[nodiscard]] const std::string& path() const noexcept final { return path_; }
  [[nodiscard]] bool has_ended() const noexcept final { return ended_.load(std::memory_order_acquire); }
  void cancel() final { send({.type = command::kind::cancel}, true); }
  void released() noexcept override;

  // Before any other thread knows the object.
  void set_handle(coracle_call handle) noexcept { handle_ = handle; }

  // For any thread. They throw failure.
  void read(std::uint32_t count, const destination& to);
  void write(std::unique_ptr<outgoing> message);
  void writes_done() { send({.type = command::kind::writes_done}); }
  void headers(std::unique_ptr<completion> c);
  void finish(std::unique_ptr<completion> c);
  virtual void answer_with(answer a);
  virtual void send_headers(metadata pairs);
  // The security of a server's connection, as long as the object.
  [[nodiscard]] virtual std::span<const coracle_pair> security();

 protected:
  struct command {
    enum class kind : std::uint8_t {
      read,
      write,
      writes_done,
      headers,
      finish,
      cancel,
      release,
      answer,
      pairs
    };
    kind type = kind::release;
    std::uint32_t count = 0;
    destination to = {};
    reservation reserved = {};
    std::unique_ptr<completion> operation = {};
    std::unique_ptr<answer> ending = {};
    metadata pairs = {};
  };
  // Drops the command of a call that has ended if `may_be_late`; otherwise that is a failure.
  void send(command c, bool may_be_late = false);
  // On the loop:
  virtual void obey(command& c) noexcept = 0;  // cancel, release, answer, pairs
  // Side is what both directions of a call look like on a client or a server:
  //   read(into), write(outgoing), writes_done(): awaitables; outcome() of what they return; written().
  // Reads what was asked for, until the end of the messages, which is kept in `end_`. Ends when `closed_`.
  template <class Side>
  static task<> read_messages(stream& self, Side& side);
  template <class Side>
  static task<> write_messages(stream& self, Side& side);
  void wake_all() noexcept {
    read_wake_.set();
    write_wake_.set();
    headers_wake_.set();
  }
  void end_reads(std::unique_ptr<completion> reading, const status& s) noexcept;
  // Ends what is pending with `s`, and refuses later commands.
  void end(const status& s) noexcept;
  virtual void reads_ended() noexcept {}
  // Adds the metadata of a call that has ended to its last event.
  virtual void add_metadata(completion&) {}

  const std::shared_ptr<shared_runtime> owner_;
  loop& where_;
  const std::string path_;
  coracle_call handle_ = 0;  // for the events
  // What a coracle_read() has asked for. It ends with its last message, or with an event that has none.
  struct wish {
    destination to;
    reservation reserved;
    std::uint32_t count;
  };
  std::deque<wish> wanted_;
  std::deque<std::unique_ptr<outgoing>> writes_;
  std::unique_ptr<completion> headers_;
  std::unique_ptr<completion> finish_;
  status end_;
  bool reads_over_ = false;
  bool draining_ = false;  // messages that are not asked for are dropped
  bool half_close_ = false;  // requested
  bool closed_ = false;
  event<> read_wake_;
  event<> write_wake_;
  event<> headers_wake_;

 private:
  static void arrived(coro::runnable& w) noexcept;
  void take(command& c) noexcept;
  [[nodiscard]] std::unique_ptr<completion> next_wanted();
  void end_wish(wish w) noexcept;

  std::mutex changing_;
  std::vector<command> inbox_;
  std::vector<command> arrived_;  // of the loop: keeps its memory
  std::shared_ptr<stream> keep_;  // while the inbox is on its way to the loop
  bool wish_continues_ = false;  // the message that is being read is not the last that its wish asks for
  bool writes_over_ = false;  // no write is accepted any more
  bool asked_headers_ = false;
  bool asked_finish_ = false;
  std::atomic<bool> ended_{false};
};

// What came of a read on one side.
class read_outcome {
 public:
  explicit read_outcome(bool message) noexcept : message_(message) {}
  explicit read_outcome(status end) noexcept : end_(std::move(end)) {}
  [[nodiscard]] bool has_message() const noexcept { return message_; }
  [[nodiscard]] const status& end() const noexcept { return end_; }

 private:
  bool message_ = false;
  status end_;
};

template <class Side>
task<> stream::read_messages(stream& self, Side& side) {
  while (!self.closed_) {
    if (self.reads_over_ || (self.wanted_.empty() && !self.draining_)) {
      co_await self.read_wake_;
      self.read_wake_.reset();
      continue;
    }
    std::unique_ptr<completion> reading = self.next_wanted();
    bytes_message dropped;
    bytes_message& into = reading ? reading->message : dropped;
    auto wait = side.read(into);
    const read_outcome got = co_await std::move(wait);
    if (got.has_message()) {
      if (reading) {
        reading->has_message = true;
        completion::finish(std::move(reading));
      }
      continue;
    }
    self.end_reads(std::move(reading), got.end());
  }
}

template <class Side>
task<> stream::write_messages(stream& self, Side& side) {
  bool half_closed = false;
  while (!self.closed_) {
    if (!self.writes_.empty()) {
      std::unique_ptr<outgoing> writing = std::move(self.writes_.front());
      self.writes_.pop_front();
      auto wait = side.write(*writing);
      writing->outcome = co_await std::move(wait);
      half_closed = half_closed || writing->last;
      completion::finish(std::move(writing));
      continue;
    }
    if (self.half_close_ && !half_closed) {
      half_closed = true;
      co_await side.writes_done();
    }
    if (side.written()) co_return;
    co_await self.write_wake_;
    self.write_wake_.reset();
  }
}

}  // namespace coracle::c_abi
