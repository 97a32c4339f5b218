#include "console/console_pages.hpp"
#include "coracle/server/server.hpp"
#include "services/json_text.hpp"
#include "services/web_page.hpp"

#include <span>
#include <string_view>
#include <utility>

namespace coracle::console {

namespace {

std::span<const services::page_file> files_of_console() {
#include "console/assets/page_files.inc"
  return page_files;
}

constexpr std::string_view realm = "console";

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
    if (const status no = pages->host().authorize(request, false); !no.ok())
      co_return services::page_refusal(no, realm);
    co_return services::page_file_response(files_of_console(), path, request);
  };
  to.add_http("GET", path + "/{file=**}", serve_file);

  const auto perform = [pages](http_request request) -> task<http_response> {
    if (const status no = pages->host().authorize(request, true); !no.ok())
      co_return services::page_refusal(no, realm);
    std::string action(request.path_parameter("action"));
    if (action == "events") try {
        co_return services::secured(http_response::stream("text/event-stream", pages->open(request)));
      } catch (const services::invalid_request& wrong) {
        co_return services::page_failure(status::invalid_argument(wrong.what()), 400);
      }
    auto done = co_await pages->perform(std::move(action), std::move(request));
    if (!done.ok()) co_return services::page_failure(done.status(), http_code_of(done.status().code()));
    co_return services::secured(http_response::json(std::move(*done)));
  };
  http_route api("POST", path + "/api/{action}", perform);
  // Another site's page cannot send this type without the server's permission.
  api.content_types = {"application/json"};
  api.max_body_bytes = body_bytes_max;
  to.add_http(std::move(api));
}

}  // namespace coracle::console
