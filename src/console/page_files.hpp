// page_files: the files of the page, which are embedded when the library is built.
#pragma once

#include <string_view>

namespace coracle::console {

struct page_file {
  std::string_view name;  // below the page's path; empty for the page itself
  std::string_view content_type;
  std::string_view bytes;
};

// Null if there is none of that name.
[[nodiscard]] const page_file* find_page_file(std::string_view name) noexcept;

}  // namespace coracle::console
