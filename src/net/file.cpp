#include "coracle/net/file.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/connect.hpp"
#include "net/file_call.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"
#include "runtime/backend.hpp"

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace coracle::net {

// Owns the handle, which must not be closed while an operation uses it: the system might reuse its number for
// another file.
class open_file {
 public:
  open_file(loop& owner_loop, runtime_internal::handle handle, std::string name) noexcept
      : on(owner_loop), descriptor(handle), path(std::move(name)) {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() {
    CORACLE_ASSERT(under_way == 0,
                   "a file was closed or destroyed while a task uses it: stop and join the task first");
    on.io().close_file(descriptor);
  }

  // Counts an operation for the lifetime of this object.
  class use {
   public:
    explicit use(open_file& of) noexcept : of_(of) { ++of_.under_way; }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() { --of_.under_way; }

   private:
    open_file& of_;
  };

  loop& on;
  const runtime_internal::handle descriptor;
  const std::string path;
  std::size_t under_way = 0;
  std::uint64_t position = 0;
  bool moving = false;  // a read() or write() is in flight
};

namespace {

using action = runtime_internal::file_request::action;

constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
constexpr const char* concurrent_use =
    "concurrent read() or write() calls on one file: use read_at() and write_at()";

open_file& checked(const std::unique_ptr<open_file>& f) {
  CORACLE_REQUIRE(f, "this file is closed, or was moved from");
  return *f;
}

int flags_of(const file_options& options) noexcept {
  // Without O_NONBLOCK, opening a FIFO whose other end is not open would block a thread indefinitely.
  const bool writes = options.write || options.append;
  int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (writes ? options.read ? O_RDWR : O_WRONLY : O_RDONLY);
  if (options.create || options.create_new) flags |= O_CREAT;
  if (options.create_new) flags |= O_EXCL;
  if (options.truncate) flags |= O_TRUNC;
  if (options.append) flags |= O_APPEND;
  return flags;
}

status outcome_of(const open_file& f, const file_call& call, std::int64_t result, std::string_view doing) {
  if (result >= 0) return {};
  return call.ended_early().ok() ? file_error(result, doing, f.path) : call.ended_early();
}

// For the requests without bytes: sync and size.
task<result<std::int64_t>> ask(open_file& f, action operation, mutable_bytes into, std::string_view doing) {
  const open_file::use held(f);
  file_call call(f.on, f.descriptor, operation);
  call.into = into;
  const std::int64_t outcome = co_await call.perform();
  if (outcome < 0) co_return outcome_of(f, call, outcome, doing);
  co_return outcome;
}

task<status> sync_by(open_file& f, action operation) {
  const result<std::int64_t> done = co_await ask(f, operation, {}, "syncing");
  co_return done.status();
}

}  // namespace

file::file() noexcept = default;
file::file(std::unique_ptr<open_file> opened) noexcept : file_(std::move(opened)) {}
file::file(file&&) noexcept = default;
file& file::operator=(file&&) noexcept = default;
file::~file() = default;

task<result<file>> file::open(std::string path, file_options options) {
  if (path.empty() || path.find('\0') != std::string::npos)
    co_return status::invalid_argument("the path of a file is empty or contains a zero byte");
  loop& on = current_loop();
  file_call call(on, runtime_internal::no_handle, action::open);
  call.request.path = path.c_str();
  call.request.flags = flags_of(options);
  call.request.permissions = options.permissions;
  const std::int64_t opened = co_await call.perform();
  if (opened < 0) {
    if (!call.ended_early().ok()) co_return call.ended_early();
    co_return file_error(opened, "opening", path);
  }
  auto f = std::make_unique<open_file>(on, static_cast<runtime_internal::handle>(opened), std::move(path));
  if (!on.io().has_positions(f->descriptor)) co_return file_error(-ESPIPE, "opening", f->path);
  co_return file(std::move(f));
}

task<result<std::size_t>> file::read_at(std::uint64_t offset, mutable_bytes into) {
  open_file& f = checked(file_);
  if (into.empty()) co_return status::invalid_argument("a read requires a buffer of at least one byte");
  if (offset > offset_max) co_return file_error(-EFBIG, "reading", f.path);
  const open_file::use held(f);
  std::size_t got = 0;
  while (got < into.size()) {
    file_call call(f.on, f.descriptor, action::read);
    call.into = into.subspan(got);
    call.request.offset = offset + got;
    const std::int64_t n = co_await call.perform();
    if (n < 0) co_return outcome_of(f, call, n, "reading");
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  co_return got;
}

task<status> file::write_at(std::uint64_t offset, bytes_view bytes) {
  open_file& f = checked(file_);
  if (offset > offset_max) co_return file_error(-EFBIG, "writing", f.path);
  const open_file::use held(f);
  for (std::size_t put = 0; put < bytes.size();) {
    file_call call(f.on, f.descriptor, action::write);
    const runtime_internal::operation::piece rest{bytes.data() + put, bytes.size() - put};
    call.pieces = &rest;
    call.piece_count = 1;
    call.request.offset = offset + put;
    const std::int64_t n = co_await call.perform();
    if (n < 0) co_return outcome_of(f, call, n, "writing");
    if (n == 0) co_return file_error(-EIO, "writing", f.path);  // avoids an endless retry
    put += static_cast<std::size_t>(n);
  }
  co_return status();
}

task<result<std::size_t>> file::read(mutable_bytes into) {
  open_file& f = checked(file_);
  const in_use held(f.moving, concurrent_use);
  result<std::size_t> got = co_await read_at(f.position, into);
  if (got.ok()) f.position += *got;
  co_return got;
}

task<status> file::write(bytes_view bytes) {
  open_file& f = checked(file_);
  const in_use held(f.moving, concurrent_use);
  status written = co_await write_at(f.position, bytes);
  if (written.ok()) f.position += bytes.size();
  co_return written;
}

std::uint64_t file::position() const noexcept { return checked(file_).position; }
void file::seek(std::uint64_t position) noexcept { checked(file_).position = position; }

task<status> file::sync() { return sync_by(checked(file_), action::sync); }
task<status> file::sync_data() { return sync_by(checked(file_), action::sync_data); }

task<result<std::uint64_t>> file::size() {
  open_file& f = checked(file_);
  alignas(8) std::uint8_t room[runtime_internal::file_size_room];
  const result<std::int64_t> bytes = co_await ask(f, action::size, room, "querying the size of");
  if (!bytes) co_return bytes.status();
  co_return static_cast<std::uint64_t>(*bytes);
}

void file::close() noexcept { file_.reset(); }

namespace {

constexpr std::size_t step_bytes = 64 * 1024;  // for files that report no size, such as those of /proc

}  // namespace

task<result<std::string>> read_file(std::string path, std::size_t bytes_max) {
  result<file> opened = co_await file::open(path);
  if (!opened) co_return opened.status();
  const result<std::uint64_t> size = co_await opened->size();
  if (!size) co_return size.status();
  std::string text;
  for (std::size_t got = 0;;) {
    // Requests one byte more than expected, so that one read detects the end.
    const std::size_t wanted = got > 0 || *size == 0 ? step_bytes : static_cast<std::size_t>(*size);
    if (*size > bytes_max || got > bytes_max)
      co_return status::resource_exhausted(path + " exceeds the limit of " + std::to_string(bytes_max) +
                                           " bytes (bytes_max of read_file())");
    text.resize(got + wanted + 1);
    const mutable_bytes room(reinterpret_cast<std::uint8_t*>(text.data()) + got, wanted + 1);
    const result<std::size_t> n = co_await opened->read(room);
    if (!n) co_return n.status();
    got += *n;
    text.resize(got);
    if (*n < room.size()) break;
  }
  if (text.size() > bytes_max)
    co_return status::resource_exhausted(path + " exceeds the limit of " + std::to_string(bytes_max) +
                                         " bytes (bytes_max of read_file())");
  co_return text;
}

task<status> write_file(std::string path, bytes_view bytes) {
  result<file> opened = co_await file::open(std::move(path), file_options::overwrite());
  if (!opened) co_return opened.status();
  co_return co_await opened->write(bytes);
}

}  // namespace coracle::net
