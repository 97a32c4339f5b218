// Bytes as text, for command lines and files of JSON.
#pragma once

#include <string>
#include <string_view>

namespace coracle::tools {

[[nodiscard]] std::string to_base64(std::string_view bytes);
// With or without padding; throws failure.
[[nodiscard]] std::string from_base64(std::string_view text);

}  // namespace coracle::tools
