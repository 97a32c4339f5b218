// console_pages: the open pages of a console, and what they ask for.
#pragma once

#include "console/page.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/console/impl/console_host.hpp"
#include "coracle/coro/async_generator.hpp"
#include "coracle/coro/stop_token.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace coracle::console {

// Its members may be called on every loop of the server; each page is used on its own.
class console_pages : public std::enable_shared_from_this<console_pages> {
 public:
  static constexpr std::size_t pages_max = 32;

  explicit console_pages(std::shared_ptr<console_host> host) noexcept : host_(std::move(host)) {}

  [[nodiscard]] console_host& host() noexcept { return *host_; }

  // Opens a page on this loop and returns the stream of its events, whose first one names the page. The page
  // is closed when the stream is destroyed, or when the server drains. Throws invalid_request.
  [[nodiscard]] async_generator<std::string> open(const http_request& request);
  // Performs an action of a page: JSON in, JSON out. The result's status is what the user did wrong, or what
  // failed.
  [[nodiscard]] task<result<std::string>> perform(std::string action, http_request request);

 private:
  class opened;
  static async_generator<std::string> events(opened of, coro::stop_token drain);
  // The page that the body names, if the client who asks is the one who has opened it. Throws
  // invalid_request.
  [[nodiscard]] std::shared_ptr<page> find(const services::ordered_json& body, const http_request& request);
  task<result<std::string>> connect(std::shared_ptr<page> of, services::ordered_json body,
                                    http_request request);
  task<services::ordered_json> start(std::shared_ptr<page> of, services::ordered_json request);
  task<services::ordered_json> send(std::shared_ptr<page> of, services::ordered_json request);

  const std::shared_ptr<console_host> host_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<page>> pages_;
};

}  // namespace coracle::console
