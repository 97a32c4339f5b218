// read_file and write_file: read and write a whole file in one call.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"

#include <cstddef>
#include <string>

namespace coracle::net {

/// Reads all of the file, with the rules and errors of net::file. Fails with RESOURCE_EXHAUSTED when it holds
/// more than `bytes_max` bytes, because other programs may control its size.
task<result<std::string>> read_file(std::string path, std::size_t bytes_max = std::size_t{64} << 20);

/// Writes all of `bytes` to the file, which it creates if it does not exist and truncates if it does. The
/// bytes must stay in place until the await ends. The write is neither atomic nor durable when the call
/// returns: to have both, write to another file, sync() it and rename it.
task<status> write_file(std::string path, bytes_view bytes);

}  // namespace coracle::net
