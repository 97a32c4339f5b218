// read_file and write_file: a whole file at once.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"

#include <cstddef>
#include <string>

namespace coracle::net {

// All of the file, under the rules and with the errors of net::file. RESOURCE_EXHAUSTED when it holds more than
// `bytes_max`: a file is somebody else's to fill.
task<result<std::string>> read_file(std::string path, std::size_t bytes_max = std::size_t{64} << 20);

// Makes the file if it is not there, and replaces what it held; the bytes must stay in place until the await
// ends. Neither atomic nor on the disk when it returns: whoever needs that writes another file, sync()s it
// and renames it.
task<status> write_file(std::string path, bytes_view bytes);

}  // namespace coracle::net
