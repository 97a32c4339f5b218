#include "coracle/net/stream.hpp"

#include "net/connect.hpp"
#include "net/in_use.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"
#include "net/open_stream.hpp"

namespace coracle::net {

namespace {

open_stream& checked(const std::unique_ptr<open_stream>& s) noexcept {
  CORACLE_ASSERT(s, "this stream is closed, or was moved from");
  return *s;
}

}  // namespace

stream::stream() noexcept = default;
stream::stream(std::unique_ptr<open_stream> opened) noexcept : open_(std::move(opened)) {}
stream::stream(stream&&) noexcept = default;
stream& stream::operator=(stream&&) noexcept = default;
stream::~stream() = default;

task<result<stream>> stream::connect(address to) {
  loop& on = current_loop();
  const result<io::handle> connected = co_await connect_socket(on, std::move(to));
  if (!connected) co_return connected.status();
  co_return stream(std::make_unique<open_stream>(on, *connected));
}

task<result<std::size_t>> stream::read(mutable_bytes into) {
  open_stream& s = checked(open_);
  if (into.empty()) co_return status::invalid_argument("a read needs room for at least one byte");
  const in_use held(s.reading, "two reads wait on one stream at a time");
  io_wait reading(s.on, io::operation::kind::receive, s.socket);
  reading.into = into;
  const std::int64_t got = co_await reading;
  if (got >= 0) co_return static_cast<std::size_t>(got);
  if (!reading.ended_early().ok()) co_return reading.ended_early();
  co_return stream_error(got, "reading");
}

task<status> stream::write(bytes_view bytes) {
  open_stream& s = checked(open_);
  if (bytes.empty()) co_return status();
  const in_use held(s.writing, "two writes wait on one stream at a time");
  const io::operation::piece whole{bytes.data(), bytes.size()};
  io_wait writing(s.on, io::operation::kind::send, s.socket);
  writing.pieces = &whole;
  writing.piece_count = 1;
  const std::int64_t put = co_await writing;
  if (put >= 0) co_return status();
  if (!writing.ended_early().ok()) co_return writing.ended_early();
  co_return stream_error(put, "writing");
}

void stream::shutdown_send() noexcept {
  open_stream& s = checked(open_);
  s.on.io().shutdown_send(s.socket);
}

void stream::close(bool abort) noexcept {
  if (!open_) return;
  open_->abort_on_close = abort;
  open_.reset();
}

const address& stream::local_address() const noexcept { return checked(open_).ends.local(); }
const address& stream::peer_address() const noexcept { return checked(open_).ends.peer(); }

}  // namespace coracle::net
