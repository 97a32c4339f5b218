#include "console/console_pages.hpp"
#include "console/page_files.hpp"
#include "coracle/server/server.hpp"

#include <utility>

namespace coracle::console {

namespace {

// Nothing but the page's own files is loaded or run, no other page can frame it, and it sends no address of
// its own to anybody. What a server sends is shown as text; this is the second line of defence.
constexpr std::string_view content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

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

http_response failure(const status& reason, int code) {
  return secured(http_response::json(text_of({{"error", reason.message()}}), code));
}

http_response refused(const status& reason) {
  if (reason.code() != status_code::unauthenticated) return failure(reason, 403);
  http_response response = failure(reason, 401);
  response.header("www-authenticate", "Basic realm=\"console\", charset=\"UTF-8\"");
  return response;
}

int http_code_of(status_code code) {
  switch (code) {
    case status_code::not_found: return 404;
    case status_code::invalid_argument: return 400;
    default: return 502;  // of the server that is called
  }
}

// Definitions that are uploaded make the largest bodies.
constexpr std::size_t body_bytes_max = std::size_t{16} << 20;

}  // namespace

task<result<std::string>> console_host::perform(std::string action, std::string) {
  co_return status::not_found("the console has no action " + action);
}

void add_console(server& to, const std::string& path, std::shared_ptr<console_host> host) {
  const auto pages = std::make_shared<console_pages>(std::move(host));
  const auto serve_file = [pages, path](http_request request) -> task<http_response> {
    if (const status no = pages->host().authorize(request, false); !no.ok()) co_return refused(no);
    http_response response;
    if (request.path() == path) {  // relative addresses in the page need the slash
      response.status = 308;
      response.header("location", path + "/");
      co_return secured(std::move(response));
    }
    const page_file* const file = find_page_file(request.path_parameter("file"));
    if (!file) co_return failure(status::not_found("the console has no such file"), 404);
    response.body = file->bytes;
    response.header("content-type", file->content_type);
    co_return secured(std::move(response));
  };
  to.add_http("GET", path + "/{file=**}", serve_file);

  const auto perform = [pages](http_request request) -> task<http_response> {
    if (const status no = pages->host().authorize(request, true); !no.ok()) co_return refused(no);
    std::string action(request.path_parameter("action"));
    if (action == "events") try {
        co_return secured(http_response::stream("text/event-stream", pages->open(request)));
      } catch (const invalid_request& wrong) {
        co_return failure(status::invalid_argument(wrong.what()), 400);
      }
    auto done = co_await pages->perform(std::move(action), std::move(request));
    if (!done.ok()) co_return failure(done.status(), http_code_of(done.status().code()));
    co_return secured(http_response::json(std::move(*done)));
  };
  http_route api("POST", path + "/api/{action}", perform);
  // Another site's page cannot send this type without the server's permission.
  api.content_types = {"application/json"};
  api.max_body_bytes = body_bytes_max;
  to.add_http(std::move(api));
}

}  // namespace coracle::console
