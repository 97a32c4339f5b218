#include "server/web/direct_response.hpp"

#include "coracle/base/clock.hpp"
#include "coracle/coro/executor.hpp"
#include "protocol/connect/content_type.hpp"
#include "protocol/grpc/content_type.hpp"
#include "protocol/grpc_web/content_type.hpp"
#include "server/http/http_response_headers.hpp"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::server_internal {

namespace {

using verb = request_info::verb;

// Contains neither methods nor a version: everyone who can connect may read it, even if the interceptors
// would reject a call.
constexpr std::string_view page = "<!doctype html>\n<title>Coracle</title>\n<p>A gRPC server.</p>\n";

// How much of a body arrives, and for how long, before the client is asked to stop sending it.
constexpr std::size_t dropped_bytes_max = 64u << 10;
constexpr duration dropping_time = std::chrono::seconds(1);

// Drops the body of a request of HTTP/2 that has its response, within limits. Owns itself.
class responded_request final : public transport::exchange_handler, private coro::timer {
 public:
  explicit responded_request(transport::exchange x) : exchange_(x) {
    exchange_.set_handler(this);
    timer::fire = [](coro::timer& t) noexcept { static_cast<responded_request&>(t).end(); };
    coro::executor& here = coro::this_executor();
    here.arm(*this, deadline_after(here.now(), dropping_time));
  }

 private:
  ~responded_request() {
    if (timer::holder) coro::this_executor().disarm(*this);
  }
  void on_headers(transport::header_source& fields, transport::block_kind,
                  bool end_stream) noexcept override {
    transport::field unused;
    while (fields.next(unused)) continue;
    if (fields.ok() && end_stream) end();
  }
  void on_data(bytes_view bytes, bool end_stream) noexcept override {
    exchange_.consume(bytes.size());
    dropped_bytes_ += bytes.size();
    if (end_stream || dropped_bytes_ > dropped_bytes_max) end();
  }
  void on_writable() noexcept override {}
  void on_reset(const transport::abnormal_end&) noexcept override { end(); }
  void end() noexcept {
    exchange_.release();
    delete this;
  }
  transport::exchange exchange_;
  std::size_t dropped_bytes_ = 0;
};

// The content-types of calls on the port, for people: each protocol with those of all its codecs.
std::string accepted_calls(const router& routes, const web_options& web, bool is_http1) {
  std::vector<std::string> protocols;
  const auto add = [&](std::string_view name, auto type_of) {
    std::string one(name);
    std::string_view before = " (";
    type_of([&](const std::string& type) { one.append(std::exchange(before, ", ")).append(type); });
    protocols.push_back(one.append(")"));
  };
  const subtype_table& codecs = routes.subtypes;
  if (!is_http1)
    add("gRPC", [&](auto put) {
      for (const auto& s : codecs.all()) put(protocol::grpc::content_type_of(s.name));
    });
  if (web.grpc_web)
    add("gRPC-Web", [&](auto put) {
      for (const bool text : {false, true})
        for (const auto& s : codecs.all()) put(protocol::grpc_web::content_type_of(text, s.name));
    });
  if (web.connect)
    add("Connect", [&](auto put) {
      for (const bool stream : {false, true})
        for (const auto& s : routes.connect_subtypes.all())
          if (!s.name.empty()) put(protocol::connect::content_type_of(stream, s.name));
    });
  if (protocols.empty()) return "gRPC, which requires HTTP/2";
  std::string text = protocols.front();
  for (std::size_t i = 1; i < protocols.size(); ++i)
    text.append(i + 1 == protocols.size() ? " or " : ", ").append(protocols[i]);
  return text;
}

}  // namespace

direct_response response_without_route(const request_info& request, const router& routes,
                                       const web_options& web, bool is_http1, bool rest) {
  const bool reads = request.method == verb::get || request.method == verb::head;
  if (reads && request.root_path)
    return direct_response{200, std::string(page)}.field("content-type", "text/html; charset=utf-8");
  if (rest && !request.root_path) return {404, "no route has this path\n"};
  if (reads && !request.row) return {404, "no such page; gRPC calls are POST requests\n"};
  if (request.method == verb::post)
    return {415, "a call requires a content-type of " + accepted_calls(routes, web, is_http1) + "\n"};
  return direct_response{405, "a gRPC call is a POST request, a page a GET request\n"}.field(
      "allow", request.root_path ? "GET, HEAD" : "POST");
}

[[gnu::noinline]]
void respond(transport::exchange x, const request_info& request, const direct_response& response,
             bool end_stream) {
  const std::string& body = response.body;
  // RFC 9110 9.3.2: the fields of a GET, and no content
  const bool headers_only = request.method == verb::head || body.empty();
  http::header_list fields = response.fields;
  std::optional<std::uint64_t> length;
  if (!body.empty()) {
    length = body.size();
    if (!fields.contains("content-type")) fields.add("content-type", "text/plain; charset=utf-8");
  }
  write_response_headers(x, response.status, fields, length, response.permission.get(), headers_only);
  if (!headers_only) {
    std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[body.size()]);
    std::memcpy(bytes.get(), body.data(), body.size());
    x.queue_data(std::move(bytes), body.size(), true);
  }
  if (end_stream || request.type != request_info::content::none || x.is_http1()) return x.release();
  new responded_request(x);
}

}  // namespace coracle::server_internal
