// base64: encodes bytes as text, for command lines and JSON files.
#pragma once

#include <string>
#include <string_view>

namespace coracle::tools {

[[nodiscard]] std::string to_base64(std::string_view bytes);
// Accepts text with or without padding; throws failure.
[[nodiscard]] std::string from_base64(std::string_view text);

}  // namespace coracle::tools
