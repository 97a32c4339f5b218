// web_page: what the library's pages for browsers have in common: their files, who may use them, and the
// header fields that protect them.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/server/http_request.hpp"
#include "coracle/server/http_response.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace coracle {
class server;
}

namespace coracle::services {

// A file of a page, which is embedded when the library is built (cmake/coracle_page.cmake).
struct page_file {
  std::string_view name;  // below the page's path; empty for the page itself
  std::string_view content_type;
  std::string_view bytes;
};

template <std::size_t size>
[[nodiscard]] std::string_view text_of_file(const unsigned char (&bytes)[size]) noexcept {
  return {reinterpret_cast<const char*>(bytes), size};
}

// Decides on a request of a page: OK admits it.
using page_access = std::function<status(const http_request&)>;

// Throws usage_error unless the path begins with a slash and does not end with one. `option` names the
// setting.
void check_page_path(std::string_view path, std::string_view option);
// The rule for a page without `authorize`, whose server listens on this machine only: PERMISSION_DENIED for
// a request that a proxy has forwarded, because its client may be on another machine. `option` is what the
// program must set.
[[nodiscard]] status refuse_proxies(const http_request& request, std::string_view option);

// Adds the fields that keep a page from loading or running anything but its own files.
[[nodiscard]] http_response secured(http_response response);
// An object of JSON with the member "error".
[[nodiscard]] http_response page_failure(const status& reason, int code);
// The response to a request that an authorization has refused: 401 for UNAUTHENTICATED, for which a browser
// asks for a name and a password, else 403.
[[nodiscard]] http_response page_refusal(const status& reason, std::string_view realm);

// Returns the file of that name: of the page, or one that all pages share; null if there is none.
[[nodiscard]] const page_file* find_page_file(std::span<const page_file> of_page,
                                              std::string_view name) noexcept;
// Responds to a request of a page's file; `path` is the page's.
[[nodiscard]] http_response page_file_response(std::span<const page_file> of_page, std::string_view path,
                                               const http_request& request);

}  // namespace coracle::services
