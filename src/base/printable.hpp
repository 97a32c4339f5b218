// printable: what a peer has said, fit for a status or a line of a log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::base {

// So much of it names a thing; the rest only fills logs.
inline constexpr std::size_t printable_bytes_max = 200;

// "?" stands for what is not printable ASCII, a new line too, and "..." for what follows the first `most` bytes.
std::string printable(std::string_view from_afar, std::size_t most = printable_bytes_max);

}  // namespace coracle::base
