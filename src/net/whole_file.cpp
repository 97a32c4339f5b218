#include "coracle/net/whole_file.hpp"

#include "coracle/net/file.hpp"

#include <algorithm>
#include <cstdint>

namespace coracle::net {

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
