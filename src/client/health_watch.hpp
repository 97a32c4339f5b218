// health_watch: monitors the health of a server over one connection (gRFC A17, grpc.health.v1.Health/Watch).
#pragma once

#include "client/backoff.hpp"
#include "client/credentials_fetch.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/call_credentials.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"
#include "transport/exchange.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace coracle::client {

class health_watch;

class health_watch_owner {
 public:
  // says() has changed. Called from handlers of the connection's events, from a timer, or from the queue of
  // the loop.
  virtual void on_health(health_watch& w) noexcept = 0;

 protected:
  ~health_watch_owner() = default;
};

// What to ask, and the credentials to ask with; all of it must outlive the watch.
struct health_question {
  std::string_view service;
  std::string_view scheme;
  std::string_view authority;
  const call_credentials& proof;
  bool secret;  // the connection is private: `proof` may be sent
};

// Each of the two messages of that service has one field, so they are encoded and decoded by hand, and this
// folder does not depend on protobuf. A server without the service counts as serving. A watch that ends with
// another error has failed, and is repeated after a pause. Belongs to a subchannel, which destroys it before
// the connection.
class health_watch final : private transport::exchange_handler,
                           private credentials_waiter,
                           private coro::timer {
 public:
  enum class verdict : std::uint8_t { unknown, serving, not_serving, failed };
  // The maximum size of one response message.
  static constexpr std::size_t answer_bytes_max = 1024;

  health_watch(loop& home, transport::connection& on, const health_question& question,
               health_watch_owner& owner);
  ~health_watch();
  void start() noexcept;
  [[nodiscard]] verdict says() const noexcept { return says_; }
  // The error of the last failure.
  [[nodiscard]] const status& failure() const noexcept { return failure_; }
  // Whether it uses a stream of the connection.
  [[nodiscard]] bool open() const noexcept { return static_cast<bool>(exchange_); }

 private:
  // transport::exchange_handler
  void on_headers(transport::header_source& fields, transport::block_kind kind,
                  bool end_stream) noexcept override;
  void on_data(bytes_view bytes, bool end_stream) noexcept override;
  void on_writable() noexcept override {}
  void on_reset(const transport::abnormal_end& end) noexcept override;

  // credentials_waiter
  void credentials_came(const result<metadata>& got) noexcept override;

  void ask(const metadata& proof) noexcept;
  void send_question(const metadata& proof) noexcept;
  bool read_answers() noexcept;
  void ended(const status& why) noexcept;
  void failed(const status& why) noexcept;
  void pause() noexcept;
  void say(verdict v) noexcept;

  loop& home_;
  transport::connection& connection_;
  const health_question question_;
  health_watch_owner& owner_;
  std::unique_ptr<credentials_fetch> fetch_;
  transport::exchange exchange_;
  int http_status_ = 0;
  status failure_;
  backoff pause_;
  std::vector<std::uint8_t> received_;
  verdict says_ = verdict::unknown;
};

}  // namespace coracle::client
