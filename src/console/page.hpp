// page: one open console in a browser, with its calls. Its events reach the browser in one stream.
#pragma once

#include "console/schema.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/security/auth_context.hpp"
#include "services/json_text.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace coracle::console {

class page_call;

// A server that the page has connected to.
struct page_server {
  page_server(channel by, const google::protobuf::FileDescriptorSet& files, std::vector<std::string> services)
      : to(std::move(by)), types(files, std::move(services)) {}
  channel to;
  schema types;
};

// Lives on the loop of the connection that its stream of events is on; every member is used there.
class page : public std::enable_shared_from_this<page> {
 public:
  // Calls that have not ended. The page shows one method at a time; the others run in the background.
  static constexpr std::size_t calls_max = 64;
  // Servers that the page has connected to; one more replaces the oldest.
  static constexpr std::size_t servers_max = 4;
  // Events that wait for the browser; the calls read no further messages meanwhile, and the server that is
  // called is slowed down by flow control.
  static constexpr std::size_t waiting_bytes_max = std::size_t{1} << 20;
  // After this time without events the stream carries a comment, so that proxies do not close it.
  static constexpr duration silence_max = std::chrono::seconds(15);

  page(loop& owner, std::shared_ptr<const auth_context> client) noexcept
      : owner_(owner), client_(std::move(client)), arrived_(owner), room_(owner) {}

  [[nodiscard]] loop& owner() const noexcept { return owner_; }
  // Who has opened the page; null in plaintext. On every loop.
  [[nodiscard]] const auth_context* client() const noexcept { return client_.get(); }

  void push(const services::ordered_json& event);
  [[nodiscard]] task<> wait_for_room();
  // What the stream of events carries next; empty when the page is closed.
  [[nodiscard]] task<std::string> next();
  // Ends the stream and cancels the calls. Idempotent.
  void close();

  // Returns the number by which the page names the server.
  std::string add_server(std::shared_ptr<page_server> server);
  // These throw invalid_request if there is none of that name.
  [[nodiscard]] std::shared_ptr<page_server> server(const std::string& name) const;
  [[nodiscard]] std::shared_ptr<page_call> call(const std::string& name) const;
  // Throws invalid_request if the name is taken, or if there are too many calls.
  void add_call(const std::string& name, std::shared_ptr<page_call> call);
  void remove_call(const std::string& name) { calls_.erase(name); }

 private:
  task<> wait_for_events();

  loop& owner_;
  const std::shared_ptr<const auth_context> client_;
  event<> arrived_, room_;
  std::deque<std::string> events_;
  std::size_t waiting_bytes_ = 0;
  bool closed_ = false;
  std::deque<std::pair<std::string, std::shared_ptr<page_server>>> servers_;
  std::size_t servers_made_ = 0;
  std::map<std::string, std::shared_ptr<page_call>> calls_;
};

}  // namespace coracle::console
