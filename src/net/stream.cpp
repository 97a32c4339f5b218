#include "coracle/net/stream.hpp"

#include "coracle/base/usage_error.hpp"
#include "net/connect.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"
#include "net/open_stream.hpp"

#include <cerrno>
#include <string>

namespace coracle::net {

namespace {

open_stream& checked(const std::unique_ptr<open_stream>& s) {
  CORACLE_REQUIRE(s, "this stream is closed, or was moved from");
  return *s;
}

status end_status(const io_wait& failed, std::string_view doing) {
  if (!failed.ended_early().ok()) return failed.ended_early();
  return stream_error(failed.await_resume(), doing);
}

status adopt_error(std::int64_t error, int descriptor) {
  const std::string which = "descriptor " + std::to_string(descriptor);
  switch (-error) {
    case EBADF: return status::invalid_argument(which + " is not open");
    case ENOTSOCK:
    case EPROTOTYPE:
    case EAFNOSUPPORT: return status::invalid_argument(which + " is not a TCP or UNIX stream socket");
    case ENOTCONN:
      return status::invalid_argument(
          which + " is not connected: pass a socket of accept(), connect() or socketpair()");
    default: return stream_error(error, which + " cannot be used as a connection");
  }
}

}  // namespace

result<runtime_internal::handle> adopt_socket(loop& on, int descriptor) {
  if (!on.io().takes_descriptors())
    return status::unimplemented("a simulation takes no descriptors: connect to an address of it");
  const std::int64_t adopted = on.io().adopt_stream(descriptor);
  if (adopted < 0) return adopt_error(adopted, descriptor);
  return static_cast<runtime_internal::handle>(adopted);
}

stream::stream() noexcept = default;
stream::stream(std::unique_ptr<open_stream> opened) noexcept : open_(std::move(opened)) {}
stream::stream(stream&&) noexcept = default;
stream& stream::operator=(stream&&) noexcept = default;
stream::~stream() = default;

task<result<stream>> stream::connect(address to) {
  loop& on = current_loop();
  const result<runtime_internal::handle> connected = co_await connect_socket(on, std::move(to));
  if (!connected) co_return connected.status();
  co_return stream(std::make_unique<open_stream>(on, *connected));
}

result<stream> stream::adopt(int descriptor) {
  loop& on = current_loop();
  const result<runtime_internal::handle> adopted = adopt_socket(on, descriptor);
  if (!adopted) return adopted.status();
  return stream(std::make_unique<open_stream>(on, *adopted));
}

stream_read stream::read(mutable_bytes into) { return {checked(open_), into}; }
stream_write stream::write(bytes_view bytes) { return {checked(open_), bytes}; }

bool stream_read::start(std::coroutine_handle<> h, const coro::environment& e) {
  io_wait& reading = stream_->reading;
  CORACLE_REQUIRE(!reading.waits(), "concurrent reads on one stream: await one read before the next");
  reading.into = into_;
  return stream_->start(reading, h, e);
}

result<std::size_t> stream_read::await_resume() {
  if (into_.empty()) return status::invalid_argument("a read requires a buffer of at least one byte");
  const std::int64_t got = stream_->reading.await_resume();
  if (got >= 0) return static_cast<std::size_t>(got);
  return end_status(stream_->reading, "reading");
}

bool stream_write::start(std::coroutine_handle<> h, const coro::environment& e) {
  CORACLE_REQUIRE(!stream_->writing.waits(),
                  "concurrent writes on one stream: await one write before the next");
  stream_->to_write = {bytes_.data(), bytes_.size()};
  return stream_->start(stream_->writing, h, e);
}

status stream_write::await_resume() {
  if (bytes_.empty() || stream_->writing.await_resume() >= 0) return status();
  return end_status(stream_->writing, "writing");
}

void stream::shutdown_send() noexcept {
  open_stream& s = checked(open_);
  s.on.io().shutdown_send(s.socket);
}

void stream::move_to(loop& where) {
  open_stream& s = checked(open_);
  CORACLE_REQUIRE(
      &where.owner() == &s.on.owner(),
      "a stream was moved to a loop of another runtime: only loops of one runtime exchange streams");
  CORACLE_REQUIRE(s.is_here(), "a stream was moved by a task that does not run on its owner loop");
  CORACLE_REQUIRE(!s.reading.waits() && !s.writing.waits(),
                  "a stream was moved while a task waits for it: await its read and its write first");
  if (&where == &s.on) return;
  auto moved = std::make_unique<open_stream>(where, s.socket);
  if (!s.unused_since_move) s.on.io().forget(s.socket);
  moved->unused_since_move = true;
  static_cast<void>(s.release());
  open_ = std::move(moved);
}

void stream::close(bool abort) noexcept {
  if (!open_) return;
  open_->abort_on_close = abort;
  open_.reset();
}

const address& stream::local_address() const noexcept { return checked(open_).ends.local(); }
const address& stream::peer_address() const noexcept { return checked(open_).ends.peer(); }

}  // namespace coracle::net
