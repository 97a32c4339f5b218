#include "console/console_pages.hpp"

#include "console/page_call.hpp"
#include "console/schema_json.hpp"
#include "coracle/base/impl/base64.hpp"
#include "coracle/compress/encoding.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/runtime/on.hpp"
#include "coracle/runtime/runtime.hpp"
#include "runtime/backend.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace coracle::console {

namespace {

namespace pb = google::protobuf;

std::shared_ptr<const auth_context> auth_of(const http_request& request) {
  return request.auth() ? request.auth()->shared_from_this() : nullptr;
}

// A browser has several connections, each with a handshake of its own.
bool same_client(const auth_context* one, const auth_context* other) {
  if (!one || !other) return one == other;
  return one->peer_verified() == other->peer_verified() && one->identities() == other->identities();
}

// Random, so that a page does not reach one of the program that ran before.
std::string make_page_id(loop& on) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), on.io().random(), 16);
  return {digits.data(), end.ptr};
}

std::string lower(std::string name) {
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name;
}

void add_metadata(const services::ordered_json& request, call_options& to) {
  const auto pairs = request.find("metadata");
  if (pairs == request.end()) return;
  for (const services::ordered_json& pair : *pairs) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      throw services::invalid_request("metadata must be an array of pairs of strings");
    const std::string name = lower(pair[0].get<std::string>());
    std::string value = pair[1].get<std::string>();
    if (std::string bytes; name.ends_with("-bin")) {
      if (!base::base64_decode(value, bytes))
        throw services::invalid_request("metadata " + name +
                                        ": the value of a name that ends in -bin must be base64");
      value = std::move(bytes);
    }
    if (!to.metadata.add(name, value))
      throw services::invalid_request(
          "metadata " + name +
          ": a name has letters, digits, '-', '_' and '.', and none that gRPC reserves; a "
          "value has printable ASCII");
  }
}

call_options options_of(const services::ordered_json& request) {
  call_options options;
  options.detached = true;  // the request of the page ends before the call does
  add_metadata(request, options);
  if (const auto timeout = request.find("timeoutMs"); timeout != request.end() && !timeout->is_null()) {
    if (!timeout->is_number() || !(timeout->get<double>() > 0) || timeout->get<double>() > 1e12)
      throw services::invalid_request("the deadline must be a number of milliseconds above 0");
    options.timeout = std::chrono::microseconds(std::llround(timeout->get<double>() * 1000));
  }
  if (const std::string name = services::string_member(request, "compression"); !name.empty()) {
    const auto known = encoding_named(name);
    if (!known || !available(*known))
      throw services::invalid_request("the compression " + name + " is not available");
    options.compression = *known;
  }
  return options;
}

services::ordered_json compressions() {
  services::ordered_json names = services::ordered_json::array();
  for (const encoding one :
       {encoding::gzip, encoding::deflate, encoding::zstd, encoding::brotli, encoding::snappy, encoding::lz4})
    if (available(one)) names.push_back(name_of(one));
  return names;
}

// The message of a request as bytes; nothing if it has none.
std::optional<std::string> message_of(const services::ordered_json& request, const schema& types,
                                      const pb::Descriptor& type) {
  if (!request.contains("json")) return std::nullopt;
  auto bytes = types.to_bytes(type, services::string_member(request, "json"));
  if (!bytes.ok()) throw services::invalid_request(std::string(bytes.status().message()));
  return std::move(*bytes);
}

}  // namespace

// Closes a page when its stream of events ends, however it does.
class console_pages::opened {
 public:
  opened(std::shared_ptr<console_pages> in, std::string id, std::shared_ptr<page> made)
      : in_(std::move(in)), id_(std::move(id)), page_(std::move(made)) {}
  opened(opened&&) noexcept = default;
  opened& operator=(opened&&) = delete;
  ~opened() {
    if (!page_) return;
    {
      const std::lock_guard lock(in_->mutex_);
      in_->pages_.erase(id_);
    }
    page_->close();
  }
  [[nodiscard]] page& operator*() const noexcept { return *page_; }

 private:
  std::shared_ptr<console_pages> in_;
  std::string id_;
  std::shared_ptr<page> page_;
};

async_generator<std::string> console_pages::open(const http_request& request) {
  const std::string id = make_page_id(*loop::current());
  auto made = std::make_shared<page>(*loop::current(), auth_of(request));
  made->push({{"kind", "page"}, {"page", id}});
  {
    const std::lock_guard lock(mutex_);
    if (pages_.size() >= pages_max)
      throw services::invalid_request("there are " + std::to_string(pages_max) + " open pages: close one");
    pages_.emplace(id, made);
  }
  return events(opened(shared_from_this(), id, std::move(made)), request.drain_token());
}

async_generator<std::string> console_pages::events(opened of, coro::stop_token drain) {
  for (;;) {
    auto next = co_await stop_on(drain, (*of).next());
    if (!next.ok() || next->empty()) co_return;
    co_yield std::move(*next);
  }
}

std::shared_ptr<page> console_pages::find(const services::ordered_json& body, const http_request& request) {
  const std::string id = services::string_member(body, "page");
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(id);
  // Calls of a page are calls of the client who has opened it.
  if (found == pages_.end() || !same_client(found->second->client(), request.auth()))
    throw services::invalid_request("the page was closed: load it again");
  return found->second;
}

task<result<std::string>> console_pages::perform(std::string action, http_request request) try {
  if (action == "about") {
    services::ordered_json about = services::parse_object(host_->about());
    about["compressions"] = compressions();
    co_return services::text_of(about);
  }
  if (action == "connect" || action == "start" || action == "send") {
    services::ordered_json body = services::parse_object(request.body());
    const std::shared_ptr<page> of = find(body, request);
    if (action == "connect") co_return co_await on(of->owner(), connect(of, std::move(body), request));
    if (action == "start") co_return services::text_of(co_await on(of->owner(), start(of, std::move(body))));
    co_return services::text_of(co_await on(of->owner(), send(of, std::move(body))));
  }
  std::string body(request.body());
  co_return co_await host_->perform(std::move(action), std::move(body));
} catch (const services::invalid_request& wrong) {
  co_return status::invalid_argument(wrong.what());
}

task<result<std::string>> console_pages::connect(std::shared_ptr<page> of, services::ordered_json body,
                                                 http_request request) {
  std::string settings = "{}";
  if (const auto given = body.find("settings"); given != body.end()) settings = services::text_of(*given);
  auto reached = co_await host_->connect(std::move(settings), std::move(request));
  if (!reached.ok()) co_return reached.status();
  const called_server& called = **reached;
  auto server = std::make_shared<page_server>(called.to, called.files, called.services);
  const std::string types = schema_json(server->types);
  // The description is most of the answer, and is already text.
  co_return "{\"server\":\"" + of->add_server(std::move(server)) + "\",\"schema\":" + types + "}";
}

task<services::ordered_json> console_pages::start(std::shared_ptr<page> of, services::ordered_json request) {
  auto server = of->server(services::string_member(request, "server"));
  const std::string path = services::string_member(request, "method");
  const pb::MethodDescriptor* const method = server->types.find_method(path);
  if (!method) throw services::invalid_request("the server has no method " + path);
  const std::string name = services::string_member(request, "call");
  if (name.empty()) throw services::invalid_request("a call must have a name");
  auto first = message_of(request, server->types, *method->input_type());
  if (!method->client_streaming() && !first)
    throw services::invalid_request(path + " takes one message; there is none");
  const bool last = services::bool_member(request, "last") || !method->client_streaming();
  const auto call = std::make_shared<page_call>(of, server, name, *method, options_of(request));
  of->add_call(name, call);
  loop& owner = of->owner();
  owner.owner().spawn_on(owner, call->run(call, std::move(first), last));
  co_return services::ordered_json::object();
}

task<services::ordered_json> console_pages::send(std::shared_ptr<page> of, services::ordered_json request) {
  const std::shared_ptr<page_call> call = of->call(services::string_member(request, "call"));
  if (services::bool_member(request, "cancel")) call->cancel();
  else
    co_await call->send(message_of(request, call->types(), call->input()),
                        services::bool_member(request, "last"));
  co_return services::ordered_json::object();
}

}  // namespace coracle::console
