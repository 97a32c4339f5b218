// connection_watch: a call that lasts as long as one connection of a subchannel, to learn about its server.
#pragma once

#include "client/call/call_attempt.hpp"
#include "client/connecting/backoff.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/impl/call_channel.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"

#include <cstdint>
#include <memory>

namespace coracle::client {

struct connect_params;

// A channel whose calls all use one connection, and its only call, which is repeated after a pause when it
// ends. Lives on the loop of its subchannel, which runs it, and which stops it before the connection is
// destroyed.
class connection_watch : public call_channel, public std::enable_shared_from_this<connection_watch> {
 public:
  // Ends after stop(), or when the watch gives up. `self` keeps the watch while it runs.
  static task<> run(std::shared_ptr<connection_watch> self);
  // The connection and the owner are not used any more.
  void stop() noexcept;
  // Whether it uses a stream of the connection.
  [[nodiscard]] bool open() const noexcept { return open_; }

 protected:
  connection_watch(transport::connection& on, const connect_params& params, std::uint32_t answer_bytes_max);
  ~connection_watch() = default;
  // Makes the call, and returns the error with which it ended.
  [[nodiscard]] virtual task<status> call() = 0;
  // The call has ended. It had a stream of the connection (`begun`), or the connection had none (`refused`).
  // Returns false to give up; else the call is repeated after a pause.
  virtual bool ended(const status& failure, bool begun, bool refused) noexcept = 0;
  // The pause is over: the next call begins.
  virtual void begins_again() noexcept {}
  // Call it when an answer has arrived.
  void answered() noexcept { pause_.reset(); }
  [[nodiscard]] bool stopped() const noexcept { return !connection_; }
  [[nodiscard]] const call_options& options() const noexcept { return options_; }

 private:
  // call_channel
  void begin(call_attempt& a) noexcept override;
  loop& blocking_loop() override;
  void set_up(call_setup& setup, std::string_view method, loop& here) noexcept override;

  task<> watch();

  transport::connection* connection_;  // null after stop()
  const call_options options_;
  const call_target target_;
  const bool private_;  // credentials may be sent
  coro::stop_source stop_;
  backoff pause_;
  bool open_ = false;
  bool refused_ = false;  // the connection had no stream for the last call
};

}  // namespace coracle::client
