#include "coracle/telemetry/with_metrics.hpp"

#include "base/output_buffer.hpp"
#include "compress/coder.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/base/version.hpp"
#include "coracle/coro/async_generator.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/server/server.hpp"
#include "protocol/connect/encodings.hpp"
#include "runtime/runtime_core.hpp"
#include "services/web_page.hpp"
#include "telemetry/prometheus/exposition.hpp"
#include "telemetry/prometheus/exposition_format.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string_view>

namespace coracle {

namespace telemetry_internal {

namespace {

using prometheus::exposition;

// The maximum number of responses that are being made or sent: each has a whole text in memory.
constexpr unsigned responses_max = 8;
constexpr std::size_t response_piece_bytes = std::size_t{64} << 10;
constexpr std::size_t compressed_bytes_min = 1024;
// Level 1 of both: the text has long repetitions, which every level finds, and the higher ones of gzip take
// three times as long.
constexpr int compression_level = 1;
// zstd takes a quarter of the time of gzip, and makes a third less of the text.
constexpr std::array offered_encodings{encoding::zstd, encoding::gzip};

// A response while it is made and sent.
struct scrape_response {
  std::string content_type;
  encoding packing = encoding::identity;
  exposition made;
  base::output_buffer compressed;

  [[nodiscard]] bool is_packed() const noexcept { return packing != encoding::identity; }
  [[nodiscard]] std::string_view body() const noexcept {
    return is_packed() ? as_text(compressed.pending()) : std::string_view(made.text);
  }
};

// The page of metrics of one server. Its routes own it.
class metrics_page {
 public:
  metrics_page(telemetry of, logger& log, metrics_options o)
      : telemetry_(std::move(of)), log_(log), options_(std::move(o)) {
    const auto add = [&](std::string_view key, std::string_view value) {
      if (std::ranges::find(options_.resource, key, [](const auto& a) { return a.first; }) ==
          options_.resource.end())
        options_.resource.emplace_back(key, value);
    };
    add("telemetry.sdk.name", "coracle");
    add("telemetry.sdk.language", "cpp");
    add("telemetry.sdk.version", version_text);
  }

  static task<http_response> answer(std::shared_ptr<metrics_page> page, http_request r) {
    if (const status admitted = page->admits(r); !admitted.ok()) co_return refusal(admitted);
    const lease held(page);
    if (!held)
      co_return http_response::text(
          "too many requests for metrics at a time, limit " + std::to_string(responses_max) + "\n", 503)
          .header("retry-after", "1");
    const metrics_snapshot now = co_await page->telemetry_.metrics();
    auto response = std::make_shared<scrape_response>();
    const auto format = prometheus::format_for(r.header("accept").value_or(std::string_view()));
    response->content_type = format.content_type();
    response->packing = protocol::connect::preferred_encoding(
        r.header("accept-encoding").value_or(std::string_view()), offered_encodings);
    const prometheus::exposition_options options{format, page->options_.resource, page->options_.series_max};
    co_await offload(make, &now, &options, response);
    page->report(response->made.left_out);
    if (response->made.too_large && response->made.series <= page->options_.series_max)
      co_return http_response::text(
          "the metrics take more than " + std::to_string(prometheus::text_bytes_max) + " bytes\n", 503);
    if (response->made.too_large)
      co_return http_response::text(
          "the metrics have " + std::to_string(response->made.series) + " series, limit " +
              std::to_string(page->options_.series_max) +
              " (see metrics_options::series_max and telemetry_options::disabled)\n",
          503);
    http_response sent = http_response::stream(response->content_type, pieces_of(response, held));
    sent.content_length = response->body().size();
    sent.header("vary", "accept, accept-encoding").header("cache-control", "no-store");
    sent.header("x-content-type-options", "nosniff");
    if (response->is_packed()) sent.header("content-encoding", coracle::name_of(response->packing));
    co_return sent;
  }

 private:
  // One of the responses that may be made at a time.
  class lease {
   public:
    explicit lease(const std::shared_ptr<metrics_page>& of) {
      if (of->responses_.fetch_add(1) < responses_max)
        held_ =
            std::shared_ptr<metrics_page>(of.get(), [of](metrics_page* p) { p->responses_.fetch_sub(1); });
      else of->responses_.fetch_sub(1);
    }
    explicit operator bool() const noexcept { return held_ != nullptr; }

   private:
    std::shared_ptr<metrics_page> held_;
  };

  [[nodiscard]] status admits(const http_request& r) const {
    if (options_.authorize) return options_.authorize(r);
    if (!options_.address.empty()) return {};
    if (r.peer().is_ip() && !r.peer().is_loopback())
      return status::permission_denied(
          "the metrics are for clients of the same machine: the server's program must set "
          "metrics_options::authorize, or serve them on a port of their own (metrics_options::address)");
    return services::refuse_proxies(r, "metrics_options::authorize");
  }
  static http_response refusal(const status& reason) {
    const std::string text = std::string(reason.message()) + "\n";
    if (reason.code() != status_code::unauthenticated) return http_response::text(text, 403);
    return http_response::text(text, 401).header("www-authenticate", "Basic realm=\"metrics\"");
  }

  // Runs on a thread of the pool.
  static void make(const metrics_snapshot* metrics, const prometheus::exposition_options* o,
                   const std::shared_ptr<scrape_response>& to) {
    to->made = prometheus::expose(*metrics, *o);
    if (to->made.too_large || to->made.text.size() < compressed_bytes_min) to->packing = encoding::identity;
    if (!to->is_packed()) return;
    if (!compress::make_coder(to->packing)
             ->compress(as_bytes(to->made.text), compression_level, to->compressed))
      throw std::bad_alloc();
    to->made.text = std::string();
  }

  static async_generator<std::string> pieces_of(std::shared_ptr<scrape_response> of, lease) {
    for (std::size_t at = 0; at < of->body().size(); at += response_piece_bytes)
      co_yield std::string(of->body().substr(at, response_piece_bytes));
  }

  // Says once of each instrument that it has no place in the text.
  void report(const std::vector<std::string>& left_out) {
    if (left_out.empty()) return;
    const std::lock_guard lock(mutex_);
    for (const std::string& name : left_out)
      if (reported_.insert(name).second)
        log_.write(log_level::warning,
                   "the instrument " + name +
                       " is left out of the metrics for Prometheus, in whole or in part: another "
                       "has its name or its labels there, or a counter is negative");
  }

  const telemetry telemetry_;
  logger& log_;
  metrics_options options_;
  std::atomic<unsigned> responses_{0};
  std::mutex mutex_;
  std::set<std::string> reported_;  // bounded by the number of instruments
};

// The servers of a runtime that serve only metrics. They end with it.
class metrics_ports final : public runtime_internal::companion {
 public:
  // Throws status_error.
  void open(runtime& on, const std::string& address, const http_route& route) {
    auto made = std::make_unique<server>(on);
    made->add_http(route);
    made->listen(address, insecure()).throw_if_error();
    const std::lock_guard lock(mutex_);
    ports_.push_back(std::move(made));
  }
  void runtime_ended() noexcept override {
    const std::lock_guard lock(mutex_);
    ports_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<server>> ports_;
};

}  // namespace

}  // namespace telemetry_internal

telemetry with_metrics(server& on, metrics_options options) {
  CORACLE_REQUIRE(options.path.starts_with('/'), "metrics_options::path begins with a slash");
  telemetry made(on.owner(), options.telemetry);
  made.observe(on);
  const std::string address = options.address;
  const std::string path = options.path;
  const auto page =
      std::make_shared<telemetry_internal::metrics_page>(made, on.owner().log(), std::move(options));
  const http_route route("GET", path, [page](http_request r) {
    return telemetry_internal::metrics_page::answer(page, std::move(r));
  });
  if (address.empty()) on.add_http(route);
  else on.owner().core().companion_of<telemetry_internal::metrics_ports>()->open(on.owner(), address, route);
  return made;
}

}  // namespace coracle
