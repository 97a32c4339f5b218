// call_log: the entries of one call in a binary log.
#pragma once

#include "coracle/client/client_interceptor.hpp"
#include "coracle/rpc/intercepted_message.hpp"
#include "coracle/server/server_context.hpp"
#include "coracle/telemetry/binary_log.hpp"
#include "telemetry/binary_log/filter.hpp"
#include "telemetry/binary_log/log_entry.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace coracle::telemetry_internal {

// Sees the messages of a call on either side, and writes an entry for each event. On the loop of the call,
// which keeps it until the last message has passed. An entry for which there is no memory is left out.
class call_log final : public message_hooks {
 public:
  call_log(std::shared_ptr<const binary_log> to, const log_limits& limits, server_context& of);
  call_log(std::shared_ptr<const binary_log> to, const log_limits& limits, client_context& of);
  call_log(const call_log&) = delete;
  call_log& operator=(const call_log&) = delete;
  ~call_log() override;

  // The interceptors have ended, and the context is gone. `cancelled`: this side cancelled the call, or a
  // server has learned of it. more_replies: the program may still read replies, which come before the last
  // entry.
  void ended(const status& outcome, bool cancelled, bool more_replies) noexcept;

  status on_request(intercepted_message& m) override;
  status on_reply(intercepted_message& m) override;
  void on_requests_end() noexcept override;
  void on_initial_metadata(const metadata& m) noexcept override;

 private:
  // Writes an entry; `fill` adds to it.
  template <class F>
  void write(log_event type, F fill) noexcept;
  void write_message(log_event type, intercepted_message& m);
  void write(log_entry&& e);
  [[nodiscard]] log_entry make_entry(log_event type) const;

  const std::shared_ptr<const binary_log> to_;
  const log_limits limits_;
  const log_side side_;
  const std::uint64_t call_id_;
  std::uint64_t entries_ = 0;
  server_context* server_ = nullptr;
  client_context* client_ = nullptr;
  std::optional<log_entry> last_;  // while more replies may come
  bool has_server_header_ = false;
  bool half_closed_ = false;
};

}  // namespace coracle::telemetry_internal
