#include "services/web_page.hpp"

#include "coracle/base/usage_error.hpp"
#include "services/json_text.hpp"

#include <algorithm>
#include <utility>

namespace coracle::services {

namespace {

// Nothing but the page's own files is loaded or run, no other page can frame it, and it sends no address of
// its own to anybody. What a server sends is shown as text; this is the second line of defence.
constexpr std::string_view content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::span<const page_file> shared_files() {
#include "services/assets/page_files.inc"
  return page_files;
}

const page_file* find(std::span<const page_file> files, std::string_view name) noexcept {
  const auto found = std::ranges::find(files, name, &page_file::name);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace

void check_page_path(std::string_view path, std::string_view option) {
  if (path.starts_with('/') && !path.ends_with('/')) return;
  throw usage_error(std::string(option) + " begins with a slash and does not end with one: \"" +
                    std::string(path) + "\"");
}

status refuse_proxies(const http_request& request, std::string_view option) {
  if (!request.header("forwarded") && !request.header("x-forwarded-for")) return {};
  return status::permission_denied(
      "the page answers no proxy, because a proxy's clients may be on other machines: the server's program "
      "must set " +
      std::string(option));
}

http_response secured(http_response response) {
  response.header("content-security-policy", content_security_policy);
  response.header("referrer-policy", "no-referrer");
  response.header("x-content-type-options", "nosniff");
  response.header("x-frame-options", "DENY");
  response.header("cross-origin-opener-policy", "same-origin");
  response.header("cross-origin-resource-policy", "same-origin");
  response.header("cache-control", "no-store");
  return response;
}

http_response page_failure(const status& reason, int code) {
  return secured(http_response::json(text_of({{"error", reason.message()}}), code));
}

http_response page_refusal(const status& reason, std::string_view realm) {
  if (reason.code() != status_code::unauthenticated) return page_failure(reason, 403);
  http_response response = page_failure(reason, 401);
  response.header("www-authenticate", "Basic realm=\"" + std::string(realm) + "\", charset=\"UTF-8\"");
  return response;
}

const page_file* find_page_file(std::span<const page_file> of_page, std::string_view name) noexcept {
  const page_file* const own = find(of_page, name);
  return own ? own : find(shared_files(), name);
}

http_response page_file_response(std::span<const page_file> of_page, std::string_view path,
                                 const http_request& request) {
  http_response response;
  if (request.path() == path) {  // relative addresses in the page need the slash
    response.status = 308;
    response.header("location", std::string(path) + "/");
    return secured(std::move(response));
  }
  const page_file* const file = find_page_file(of_page, request.path_parameter("file"));
  if (!file) return page_failure(status::not_found("the page has no such file"), 404);
  response.body = file->bytes;
  response.header("content-type", file->content_type);
  return secured(std::move(response));
}

}  // namespace coracle::services
