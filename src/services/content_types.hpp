// content_types: the media types of files, by the ends of their names.
#pragma once

#include <string_view>

namespace coracle::services {

struct content_type {
  std::string_view value;
  bool compressible;  // text, which is not compressed already
};

// application/octet-stream for an unknown end.
[[nodiscard]] content_type content_type_of(std::string_view file_name) noexcept;

}  // namespace coracle::services
