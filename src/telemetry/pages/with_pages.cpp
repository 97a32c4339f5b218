#include "coracle/telemetry/with_pages.hpp"

#include "coracle/server/server.hpp"
#include "coracle/telemetry/telemetry.hpp"
#include "services/json_text.hpp"
#include "services/web_page.hpp"
#include "telemetry/pages/calls_in_progress.hpp"
#include "telemetry/pages/page_source.hpp"
#include "telemetry/profiles/cpu_profile.hpp"
#include "telemetry/profiles/heap_profile.hpp"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace coracle {

namespace telemetry_internal {

namespace {

constexpr std::string_view realm = "pages";
constexpr std::string_view option = "pages_options::authorize";
constexpr std::string_view actions = "actions/";
// The body of an action is a line of text.
constexpr std::size_t body_bytes_max = std::size_t{4} << 10;

std::span<const services::page_file> files_of_pages() {
#include "telemetry/assets/page_files.inc"
  return page_files;
}

http_response method_not_allowed() {
  http_response response = services::page_failure(status::unimplemented("use POST"), 405);
  response.header("allow", "POST");
  return response;
}

// The time of a CPU profile, in seconds: parameter "seconds" of the query. Whole seconds, as those of pprof.
constexpr int profile_s_default = 10;
constexpr int profile_s_max = 60;

// 0 for what is no number of seconds within the limit.
int profile_seconds(const std::optional<std::string>& text) {
  if (!text) return profile_s_default;
  int seconds = 0;
  const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (wrong != std::errc() || end != text->data() + text->size()) return 0;
  return seconds > 0 && seconds <= profile_s_max ? seconds : 0;
}

// A file that a browser saves.
http_response file_response(std::string bytes, std::string_view name) {
  http_response response;
  response.body = std::move(bytes);
  response.header("content-type", "application/octet-stream");
  response.header("content-disposition", "attachment; filename=\"" + std::string(name) + "\"");
  return services::secured(std::move(response));
}

http_response profile_failure(const status& reason) {
  switch (reason.code()) {
    case status_code::aborted:
    case status_code::failed_precondition: return services::page_failure(reason, 409);
    case status_code::unimplemented: return services::page_failure(reason, 501);
    default: return services::page_failure(reason, 503);
  }
}

// The routes of the pages of one server; the server keeps them.
class page_routes {
 public:
  page_routes(pages_options options, std::shared_ptr<page_source> source) noexcept
      : options_(std::move(options)), source_(std::move(source)) {}

  // Without `authorize` the server listens on this machine only: with_pages().
  [[nodiscard]] status authorize(const http_request& request) const {
    return options_.authorize ? options_.authorize(request) : services::refuse_proxies(request, option);
  }

  task<http_response> file(http_request request) const {
    if (const status no = authorize(request); !no.ok()) co_return services::page_refusal(no, realm);
    if (request.path_parameter("file").starts_with(actions)) co_return method_not_allowed();
    co_return services::page_file_response(files_of_pages(), options_.path, request);
  }

  task<http_response> json(http_request request) const {
    if (const status no = authorize(request); !no.ok()) co_return services::page_refusal(no, realm);
    if (request.path_parameter("name") == "rpcz") co_return co_await rpcz(request);
    const services::ordered_json page = co_await source_->page(request.path_parameter("name"));
    if (page.is_null()) co_return services::page_failure(status::not_found("there is no such page"), 404);
    co_return services::secured(http_response::json(services::text_of(page)));
  }

  // Parameter "method" of the query chooses one method.
  task<http_response> rpcz(const http_request& request) const {
    std::string method = request.parameter("method").value_or("");
    std::optional<std::string> page = co_await source_->rpcz(std::move(method));
    if (!page)
      co_return services::page_failure(status::unavailable("others read the recorder: try again in a second"),
                                       503);
    co_return services::secured(http_response::json(*std::move(page)));
  }

  // Profiles, which take a while, so that those of another site's page are refused (Fetch Metadata).
  task<http_response> profile(http_request request) const {
    if (const status no = authorize(request); !no.ok()) co_return services::page_refusal(no, realm);
    if (request.header("sec-fetch-site") == "cross-site")
      co_return services::page_failure(status::permission_denied("other sites get no profiles"), 403);
    if (request.path_parameter("name") == "profile") co_return co_await cpu_profile(request);
    if (request.path_parameter("name") == "heap") co_return co_await heap_profile();
    co_return services::page_failure(status::not_found("there is no such profile"), 404);
  }
  task<http_response> cpu_profile(const http_request& request) const {
    const int seconds = profile_seconds(request.parameter("seconds"));
    if (seconds == 0)
      co_return services::page_failure(status::invalid_argument("seconds must be a whole number from 1 to " +
                                                                std::to_string(profile_s_max)),
                                       400);
    const coro::stop_token drains = request.drain_token();
    result<std::string> made = co_await take_cpu_profile(std::chrono::seconds(seconds), drains);
    if (!made.ok()) co_return profile_failure(made.status());
    co_return file_response(*std::move(made), "cpu.pb.gz");
  }
  task<http_response> heap_profile() const {
    result<std::string> made = co_await take_heap_profile();
    if (!made.ok()) co_return profile_failure(made.status());
    co_return file_response(*std::move(made), "heap.pb.gz");
  }

  task<http_response> perform(http_request request) const {
    if (const status no = authorize(request); !no.ok()) co_return services::page_refusal(no, realm);
    try {
      const services::ordered_json body = services::parse_object(request.body());
      const std::string_view action = request.path_parameter("action");
      if (action == "set_log_levels") source_->set_log_levels(body);
      else if (action == "cancel_call") co_await source_->cancel_call(body);
      else co_return services::page_failure(status::not_found("there is no such action"), 404);
      co_return services::secured(http_response::json("{}"));
    } catch (const services::invalid_request& wrong) {
      co_return services::page_failure(status::invalid_argument(wrong.what()), 400);
    }
  }

 private:
  const pages_options options_;
  const std::shared_ptr<page_source> source_;
};

}  // namespace

}  // namespace telemetry_internal

void with_pages(server& on, pages_options options) {
  using namespace telemetry_internal;
  services::check_page_path(options.path, "pages_options::path");
  if (!options.authorize)
    on.require_loopback(
        "with_pages() without pages_options::authorize shows the server to every client that reaches it: set "
        "authorize, or listen on 127.0.0.1, ::1 or a UNIX socket");
  telemetry measured(on.owner());
  measured.observe(on);
  auto calls = std::make_shared<calls_in_progress>(on.owner());
  on.add_observer(calls);
  const std::string path = options.path;
  const bool cancels = options.cancel_calls;
  const auto routes = std::make_shared<const page_routes>(
      std::move(options),
      std::make_shared<page_source>(measured.internals().shared_from_this(), std::move(calls), cancels));
  on.add_http("GET", path + "/{file=**}",
              [routes](http_request request) { return routes->file(std::move(request)); });
  on.add_http("GET", path + "/json/{name}",
              [routes](http_request request) { return routes->json(std::move(request)); });
  on.add_http("GET", path + "/pprof/{name}",
              [routes](http_request request) { return routes->profile(std::move(request)); });
  http_route api("POST", path + "/" + std::string(actions) + "{action}",
                 [routes](http_request request) { return routes->perform(std::move(request)); });
  // Another site's page cannot send this type without the server's permission.
  api.content_types = {"application/json"};
  api.max_body_bytes = body_bytes_max;
  on.add_http(std::move(api));
}

}  // namespace coracle
