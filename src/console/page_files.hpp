// page_files: the files of the page, which are embedded when the library is built.
#pragma once

#include <span>
#include <string_view>

namespace coracle::console {

struct page_file {
  std::string_view name;  // below the page's path; empty for the page itself
  std::string_view content_type;
  std::string_view bytes;
};

[[nodiscard]] std::span<const page_file> page_files() noexcept;

}  // namespace coracle::console
