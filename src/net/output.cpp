#include "coracle/net/output.hpp"

#include "coracle/base/usage_error.hpp"
#include "net/file_call.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"
#include "net/open_descriptor.hpp"

#include <unistd.h>
#include <cerrno>

namespace coracle::net {

namespace {

using ownership = open_descriptor::ownership;

task<status> write_disk(open_descriptor& d, bytes_view bytes) {
  for (std::size_t put = 0; put < bytes.size();) {
    file_call call(d.on, d.descriptor, runtime_internal::file_request::action::write);
    const runtime_internal::operation::piece rest{bytes.data() + put, bytes.size() - put};
    call.pieces = &rest;
    call.piece_count = 1;
    call.request.offset = runtime_internal::current_position;
    const std::int64_t n = co_await call.perform();
    if (n < 0 && !call.ended_early().ok()) co_return call.ended_early();
    if (n <= 0) co_return stream_error(n < 0 ? n : -EIO, "writing");
    put += static_cast<std::size_t>(n);
  }
  co_return status();
}

}  // namespace

output::output() noexcept = default;
output::output(std::unique_ptr<open_descriptor> opened) noexcept : descriptor_(std::move(opened)) {}
output::output(output&&) noexcept = default;
output& output::operator=(output&&) noexcept = default;
output::~output() = default;

result<output> output::adopt(int descriptor) {
  result<std::unique_ptr<open_descriptor>> opened = open_descriptor::open(descriptor, ownership::owned);
  if (!opened) return opened.status();
  return output(*std::move(opened));
}

result<output> output::borrow(int descriptor) {
  result<std::unique_ptr<open_descriptor>> opened = open_descriptor::open(descriptor, ownership::borrowed);
  if (!opened) return opened.status();
  return output(*std::move(opened));
}

result<output> standard_output() { return output::borrow(STDOUT_FILENO); }

task<status> output::write(bytes_view bytes) {
  CORACLE_REQUIRE(descriptor_, "this output is closed, or was moved from");
  open_descriptor& d = *descriptor_;
  if (bytes.empty()) co_return status();
  const in_use held(d.waiting, "concurrent writes on one output: await one write before the next");
  if (d.on_disk) co_return co_await write_disk(d, bytes);
  const runtime_internal::operation::piece whole{bytes.data(), bytes.size()};
  io_wait writing(d.on, runtime_internal::operation::kind::send, d.descriptor);
  writing.no_socket = true;
  writing.pieces = &whole;
  writing.piece_count = 1;
  const std::int64_t put = co_await writing;
  if (put >= 0) co_return status();
  if (!writing.ended_early().ok()) co_return writing.ended_early();
  co_return stream_error(put, "writing");
}

void output::close() noexcept { descriptor_.reset(); }

}  // namespace coracle::net
