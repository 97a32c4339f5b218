#include "coracle/net/input.hpp"

#include "coracle/base/usage_error.hpp"
#include "net/file_call.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"
#include "net/open_descriptor.hpp"

#include <unistd.h>

namespace coracle::net {

namespace {

using ownership = open_descriptor::ownership;

task<result<std::size_t>> read_disk(open_descriptor& d, mutable_bytes into) {
  file_call call(d.on, d.descriptor, runtime_internal::file_request::action::read);
  call.into = into;
  call.request.offset = runtime_internal::current_position;
  const std::int64_t got = co_await call.perform();
  if (got >= 0) co_return static_cast<std::size_t>(got);
  if (!call.ended_early().ok()) co_return call.ended_early();
  co_return stream_error(got, "reading");
}

}  // namespace

input::input() noexcept = default;
input::input(std::unique_ptr<open_descriptor> opened) noexcept : descriptor_(std::move(opened)) {}
input::input(input&&) noexcept = default;
input& input::operator=(input&&) noexcept = default;
input::~input() = default;

result<input> input::adopt(int descriptor) {
  result<std::unique_ptr<open_descriptor>> opened = open_descriptor::open(descriptor, ownership::owned);
  if (!opened) return opened.status();
  return input(*std::move(opened));
}

result<input> input::borrow(int descriptor) {
  result<std::unique_ptr<open_descriptor>> opened = open_descriptor::open(descriptor, ownership::borrowed);
  if (!opened) return opened.status();
  return input(*std::move(opened));
}

result<input> standard_input() { return input::borrow(STDIN_FILENO); }

task<result<std::size_t>> input::read(mutable_bytes into) {
  CORACLE_REQUIRE(descriptor_, "this input is closed, or was moved from");
  open_descriptor& d = *descriptor_;
  if (into.empty()) co_return status::invalid_argument("a read requires a buffer of at least one byte");
  const in_use held(d.waiting, "concurrent reads on one input: await one read before the next");
  if (d.on_disk) co_return co_await read_disk(d, into);
  io_wait reading(d.on, runtime_internal::operation::kind::receive, d.descriptor);
  reading.no_socket = true;
  reading.into = into;
  const std::int64_t got = co_await reading;
  if (got >= 0) co_return static_cast<std::size_t>(got);
  if (!reading.ended_early().ok()) co_return reading.ended_early();
  co_return stream_error(got, "reading");
}

void input::close() noexcept { descriptor_.reset(); }

}  // namespace coracle::net
