#include "net/byte_stream_duplex.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/yield.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"
#include "net/checked_duplex.hpp"
#include "net/open_stream.hpp"
#include "net/socket_duplex.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::net {

// What to_byte_stream() returns.
class byte_stream_of_socket final : public byte_stream {
 public:
  explicit byte_stream_of_socket(stream s) : stream_(std::move(s)) {
    of_socket_ = true;
    CORACLE_REQUIRE(stream_.is_open(), "this stream is closed, or was moved from");
  }
  task<result<std::size_t>> read(mutable_bytes into) override { co_return co_await stream_.read(into); }
  task<status> write(bytes_view bytes) override { co_return co_await stream_.write(bytes); }
  task<status> shutdown_send() override {
    stream_.shutdown_send();
    co_return status();
  }
  void close(bool abort) noexcept override { stream_.close(abort); }
  [[nodiscard]] address peer_address() const override { return stream_.peer_address(); }
  [[nodiscard]] address local_address() const override { return stream_.local_address(); }
  [[nodiscard]] static byte_stream_of_socket* of(byte_stream& s) noexcept {
    return s.of_socket_ ? static_cast<byte_stream_of_socket*>(&s) : nullptr;
  }

  [[nodiscard]] loop& owner_loop() const noexcept { return stream_.open_->on; }
  [[nodiscard]] runtime_internal::handle release() noexcept {
    return std::exchange(stream_.open_, nullptr)->release();
  }

 private:
  stream stream_;
};

std::unique_ptr<byte_stream> to_byte_stream(stream s) {
  return std::make_unique<byte_stream_of_socket>(std::move(s));
}

namespace {

// The maximum number of bytes that are read or written at once.
constexpr std::size_t room_bytes = 16 * 1024;
// A stream that always has bytes lets the rest of the loop run after this many.
constexpr std::size_t share_bytes = 64 * 1024;

// Call it in a catch block.
status thrown_failure() noexcept {
  status failure(status_code::unavailable);
  base::if_memory_allows([&] {
    try {
      throw;
    } catch (const std::exception& e) {
      failure = status::unavailable(std::string("the byte stream threw an exception: ") + e.what());
    } catch (...) {
      failure = status::unavailable("the byte stream threw an exception");
    }
  });
  return failure;
}

// The functions of the stream are called from the queue of the loop and from their own completions only, so
// that the sink is never called from inside a function of the duplex, whatever the stream does at once.
class byte_stream_duplex final : public checked_duplex, coro::runnable {
 public:
  byte_stream_duplex(loop& owner_loop, std::unique_ptr<byte_stream> s)
      : loop_(owner_loop),
        stream_(std::move(s)),
        peer_(stream_->peer_address()),
        local_(stream_->local_address()) {
    run = [](coro::runnable& w) noexcept { static_cast<byte_stream_duplex&>(w).turn(); };
  }
  ~byte_stream_duplex() override {
    check_destruction();
    if (!sink_) stream_->close(false);
  }

  void start(duplex_sink& sink) override {
    check_start();
    room_.reset(new std::uint8_t[room_bytes]);
    sink_ = &sink;
    wake();
  }

  void pause_receive() noexcept override { paused_ = true; }
  void resume_receive() noexcept override {
    if (std::exchange(paused_, false) && !closing_) wake();
  }

  using checked_duplex::send;
  bool send(std::span<const piece> pieces) noexcept override {
    if (!begin_send()) return false;
    left_ = pieces;
    total_bytes_ = 0;
    for (const piece& p : pieces) total_bytes_ += static_cast<std::int64_t>(p.size);
    wake();
    return true;
  }

  void shutdown_send() noexcept override {
    if (begin_shutdown_send()) wake();
  }

  void close(bool abort) noexcept override {
    if (!begin_close(abort)) return;
    work_.request_stop();
    wake();
  }

  [[nodiscard]] std::size_t memory_bytes() const noexcept override { return unread_.size(); }
  [[nodiscard]] const address& peer_address() const noexcept override { return peer_; }
  [[nodiscard]] const address& local_address() const noexcept override { return local_; }
  [[nodiscard]] std::string_view end_reason() const noexcept override { return end_reason_; }

 private:
  void wake() noexcept {
    if (!std::exchange(woken_, true)) loop_.post(*this);
  }

  void turn() noexcept {
    woken_ = false;
    if (closing_) {
      if (!reading_ && !writing_) finish();
      return;
    }
    if (!writing_ && (sending_ || end_is_due())) {
      writing_ = true;
      if (!base::if_memory_allows([&] { work_.spawn(transmit()); }))
        written(status(status_code::resource_exhausted));
    }
    deliver();
    if (reading_ || paused_ || closing_ || end_) return;
    reading_ = true;
    if (base::if_memory_allows([&] { work_.spawn(receive()); })) return;
    reading_ = false;
    end_ = -ENOMEM;
    deliver();
  }

  // Reads until the sink pauses.
  task<> receive() {
    std::size_t share = share_bytes;
    while (!paused_ && !closing_ && !end_) {
      result<std::size_t> n(std::size_t{0});
      try {
        if (share == 0) {
          share = share_bytes;
          yield others;
          co_await others;
        }
        task<result<std::size_t>> reading = stream_->read({room_.get(), room_bytes});
        n = co_await std::move(reading);
      } catch (...) {
        n = thrown_failure();
      }
      if (closing_) break;
      if (!n) end_ = failed(n.status());
      else if (*n > room_bytes)
        end_ = failed(status::internal("the byte stream read more than it had room for"));
      else if (*n == 0) end_ = 0;
      else unread_ = {room_.get(), *n};
      share -= std::min(share, unread_.size());
      deliver();
    }
    reading_ = false;
    if (closing_) wake();
  }

  void deliver() noexcept {
    if (paused_ || closing_) return;
    if (!unread_.empty()) sink_->received(std::exchange(unread_, {}));
    if (paused_ || closing_ || !end_ || std::exchange(end_reported_, true)) return;
    sink_->receive_ended(*end_);
  }

  task<> transmit() {
    status outcome = write_failure_;
    try {
      if (!sending_) {
        end_sent_ = true;
        task<status> ending = stream_->shutdown_send();
        outcome = co_await std::move(ending);
      }
      while (outcome.ok() && !left_.empty() && !closing_) {
        task<status> writing = stream_->write(gather());
        outcome = co_await std::move(writing);
      }
    } catch (...) {
      outcome = thrown_failure();
    }
    written(outcome);
  }

  // Takes the next bytes out of left_, at least one piece. Copies small pieces together, so that the
  // stream gets few writes.
  bytes_view gather() {
    const auto view = [](const piece& p) {
      return bytes_view(static_cast<const std::uint8_t*>(p.data), p.size);
    };
    gathered_.clear();
    while (!left_.empty()) {
      const bytes_view first = view(left_.front());
      if (gathered_.size() + first.size() > room_bytes) {
        if (!gathered_.empty()) break;
        left_ = left_.subspan(1);
        return first;
      }
      gathered_.insert(gathered_.end(), first.begin(), first.end());
      left_ = left_.subspan(1);
    }
    return gathered_;
  }

  void written(const status& outcome) noexcept {
    writing_ = false;
    if (closing_) return wake();
    if (!outcome.ok()) write_failure_ = outcome;
    if (std::exchange(sending_, false)) {
      left_ = {};
      sink_->sent(outcome.ok() ? total_bytes_ : failed(outcome));
    }
    if (end_is_due()) wake();
  }

  // Whether the end of the bytes is to be sent after the last send.
  [[nodiscard]] bool end_is_due() const noexcept {
    return shut_down_ && !sending_ && !end_sent_ && write_failure_.ok();
  }

  // Returns the error number of a failure, and keeps its text.
  std::int64_t failed(const status& outcome) noexcept {
    if (end_reason_.empty())
      base::if_memory_allows([&] { end_reason_ = base::printable(outcome.message()); });
    switch (outcome.code()) {
      case status_code::cancelled: return -ECANCELED;
      case status_code::deadline_exceeded: return -ETIMEDOUT;
      case status_code::resource_exhausted: return -ENOMEM;
      default: return -ECONNRESET;
    }
  }

  void finish() noexcept {
    if (std::exchange(sending_, false)) sink_->sent(-ECANCELED);
    stream_->close(abort_);
    report_closed();  // may destroy *this
  }

  loop& loop_;
  const std::unique_ptr<byte_stream> stream_;
  const address peer_;
  const address local_;
  scope work_;  // receive() and transmit()
  std::unique_ptr<std::uint8_t[]> room_;  // of read()
  bytes_view unread_;  // in room_: read, and not delivered yet
  std::vector<std::uint8_t> gathered_;
  std::span<const piece> left_;
  std::int64_t total_bytes_ = 0;  // of the send
  std::optional<std::int64_t> end_;
  status write_failure_;
  std::string end_reason_;
  bool woken_ = false;
  bool reading_ = false;  // receive() is running
  bool writing_ = false;  // transmit() is running
  bool end_sent_ = false;
  bool end_reported_ = false;
};

task<> destroy(std::unique_ptr<byte_stream> s) {
  s.reset();
  co_return;
}

}  // namespace

result<std::unique_ptr<duplex>> make_duplex(loop& on, std::unique_ptr<byte_stream> s) {
  auto* const socket = byte_stream_of_socket::of(*s);
  if (!socket) return std::make_unique<byte_stream_duplex>(on, std::move(s));
  if (loop& owner_loop = socket->owner_loop(); &owner_loop != &on) {
    owner_loop.owner().spawn_on(owner_loop, destroy(std::move(s)));  // only its own loop may close the socket
    return status::unavailable("the stream belongs to another loop");
  }
  return make_socket_duplex(on, socket->release());
}

}  // namespace coracle::net
