// etcd_session: the channel to an etcd, and who asks.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/naming/with_etcd.hpp"
#include "coracle/rpc/bytes_message.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace coracle::naming {

// Of a request other than a stream, with the ones that identify the user.
inline constexpr duration etcd_timeout = std::chrono::seconds(5);

// Lives on one loop. Requests go to one member, as long as it is connected, until next_member(): one that is
// cut off from the others accepts connections, and answers nothing that needs them. With a user, requests
// have a token, which is obtained with the first one, and anew when etcd no longer knows it.
class etcd_session {
 public:
  // On a loop.
  explicit etcd_session(std::shared_ptr<const etcd_options> options);

  // `request` must outlive the await.
  [[nodiscard]] task<result<bytes_message>> unary(const char* method, const bytes_message& request,
                                                  duration timeout = etcd_timeout);
  // With the token of the last unary(). etcd checks it when the stream begins.
  [[nodiscard]] bidi_call<bytes_message, bytes_message> bidi(const char* method,
                                                             call_options options = {}) const;
  // After a failure: the next request goes to another member, if there is one.
  void next_member() noexcept { ++*failures_; }

 private:
  [[nodiscard]] task<status> authenticate(time_point end);
  void identify(call_options& options) const;

  const std::shared_ptr<const etcd_options> options_;
  const std::shared_ptr<std::size_t> failures_ = std::make_shared<std::size_t>(0);
  const generic_stub stub_;
  bool authenticated_ = false;
  std::string token_;  // empty: etcd does not ask who comes, or it has not been obtained yet
};

}  // namespace coracle::naming
