// scripted_server: a server whose replies the test determines, behind real HTTP/2 in memory.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/transport/impl/connector.hpp"
#include "net/memory_duplex.hpp"
#include "transport/exchange.hpp"
#include "transport/header_block.hpp"

#include <google/protobuf/wrappers.pb.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing_support {

// One request, and the actions on it. Its functions have no effect after its end.
class scripted_request final : public transport::exchange_handler {
 public:
  explicit scripted_request(transport::exchange x) noexcept : exchange_(x) { exchange_.set_handler(this); }

  std::map<std::string, std::string, std::less<>> head;
  time_point received_at{};
  std::string body;      // what has arrived
  int pieces = 0;        // in which it did
  bool complete = false;
  bool cancelled = false;  // by the client, or with its connection
  std::function<void(scripted_request&)> when_complete;
  bool reads = true;  // gives window back

  [[nodiscard]] std::string field(std::string_view name) const {
    const auto found = head.find(name);
    return found == head.end() ? "" : found->second;
  }

  void refuse() { end_with_reset(transport::error_code::refused_stream); }
  void end_with_reset(transport::error_code code) {
    if (!exchange_) return;
    exchange_.reset(code);
    exchange_.release();
  }
  // Trailers-Only. pushback: the value of grpc-retry-pushback-ms, empty for none.
  void fail(status_code code, std::string_view pushback = {}) {
    transport::header_block b;
    b.add(":status", "200").add("content-type", "application/grpc");
    finish(b, code, pushback);
  }
  void answer_http(std::string_view http_status) {
    if (!exchange_) return;
    transport::header_block b;
    b.add(":status", http_status).add("content-type", "text/html");
    exchange_.send_block(b.bytes(), false);
    const std::string_view page = "<html>";
    exchange_.queue_data(copy_of(page), page.size(), true);
    exchange_.release();
  }
  void send_headers() {
    if (!exchange_) return;
    transport::header_block b;
    b.add(":status", "200").add("content-type", "application/grpc").add("x-attempt", field("x-number"));
    exchange_.send_block(b.bytes(), false);
  }
  void send_message(const std::string& text) {
    if (!exchange_) return;
    google::protobuf::StringValue m;
    m.set_value(text);
    const std::string bytes = m.SerializeAsString();
    const auto n = static_cast<std::uint32_t>(bytes.size());
    std::string framed{'\0', static_cast<char>(n >> 24), static_cast<char>(n >> 16),
                       static_cast<char>(n >> 8), static_cast<char>(n)};
    framed += bytes;
    exchange_.queue_data(copy_of(framed), framed.size(), false);
  }
  void end(status_code code) {
    transport::header_block b;
    finish(b, code, {});
  }
  void reply(const std::string& text) {
    send_headers();
    send_message(text);
    end(status_code::ok);
  }
  // A header block as it is; with `end` the last one.
  void send(const transport::header_block& b, bool end) {
    if (!exchange_) return;
    exchange_.send_block(b.bytes(), end);
    if (end) exchange_.release();
  }
  void release_window(std::size_t n) {
    if (exchange_) exchange_.consume(n);
  }

 private:
  static std::unique_ptr<std::uint8_t[]> copy_of(std::string_view bytes) {
    std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[bytes.size()]);
    bytes.copy(reinterpret_cast<char*>(copy.get()), bytes.size());
    return copy;
  }
  void finish(transport::header_block& b, status_code code, std::string_view pushback) {
    if (!exchange_) return;
    b.add("grpc-status", std::to_string(static_cast<int>(code)));
    if (code != status_code::ok) b.add("grpc-message", "as scripted");
    b.add("x-trailer", field("x-number"));
    if (!pushback.empty()) b.add("grpc-retry-pushback-ms", pushback);
    exchange_.send_block(b.bytes(), true);
    exchange_.release();
  }
  void on_headers(transport::header_source&, transport::block_kind, bool) noexcept override {}
  void on_data(bytes_view bytes, bool end_stream) noexcept override {
    body.append(as_text(bytes));
    ++pieces;
    if (reads) exchange_.consume(bytes.size());
    if (!end_stream) return;
    complete = true;
    if (when_complete) when_complete(*this);
  }
  void on_writable() noexcept override {}
  void on_reset(const transport::abnormal_end&) noexcept override {
    cancelled = true;
    exchange_.release();
  }
  transport::exchange exchange_;
};

// Runs on one loop, which is also that of its clients' channel. Must outlive the channel.
class scripted_server final : private transport::connection_owner, private transport::request_acceptor {
 public:
  explicit scripted_server(loop& owner_loop) : loop_(owner_loop) {}

  // Called with each request when its headers have arrived (before its body); may be replaced at any time.
  std::function<void(scripted_request&)> script;
  std::vector<std::unique_ptr<scripted_request>> requests;  // in order
  http2::limits limits;
  bool reachable = true;

  // Two-step GOAWAY; its requests continue.
  void go_away() {
    for (const auto& c : connections_) c->drain();
  }
  void disconnect() {
    for (const auto& c : connections_) c->close(transport::error_code::internal_error, "as scripted");
  }
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }

  std::shared_ptr<transport::connector> way() {
    struct here final : transport::connector {
      explicit here(scripted_server& s) : server(s) {}
      task<result<std::unique_ptr<net::duplex>>> make_duplex(loop&) override { co_return server.accept(); }
      [[nodiscard]] std::string authority() const override { return "scripted"; }
      scripted_server& server;
    };
    return std::make_shared<here>(*this);
  }

 private:
  result<std::unique_ptr<net::duplex>> accept() {
    if (!reachable) return status::unavailable("scripted to be away");
    auto [ours, theirs] = net::make_memory_duplex_pair(loop_, loop_);
    transport::connection_options options;
    options.http2 = limits;
    connections_.push_back(std::make_unique<transport::connection>(
        loop_, std::move(ours), transport::role::server, options,
        static_cast<transport::connection_owner&>(*this), static_cast<transport::request_acceptor*>(this)));
    connections_.back()->start();
    return std::move(theirs);
  }
  void on_request(transport::exchange x, transport::header_source& fields, bool) noexcept override {
    requests.push_back(std::make_unique<scripted_request>(x));
    scripted_request& r = *requests.back();
    transport::field f;
    while (fields.next(f)) {
      const auto [at, is_new] = r.head.try_emplace(std::string(f.name), f.value);
      if (!is_new) at->second.append(",").append(f.value);
    }
    r.head["x-number"] = std::to_string(requests.size());
    r.received_at = loop_.now();
    if (script) script(r);
  }
  void on_closed(transport::connection& c) noexcept override {
    std::erase_if(connections_, [&](const auto& p) { return p.get() == &c; });
  }
  loop& loop_;
  std::vector<std::unique_ptr<transport::connection>> connections_;
};

}  // namespace coracle::testing_support
