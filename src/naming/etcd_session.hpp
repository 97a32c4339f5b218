// etcd_session: the channel to an etcd, and who asks.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/naming/with_etcd.hpp"
#include "coracle/rpc/bytes_message.hpp"

#include <memory>
#include <string>

namespace coracle::naming {

// Of a request other than a stream.
inline constexpr duration etcd_timeout = std::chrono::seconds(5);

// Lives on one loop. With a user, requests have a token, which is obtained with the first one, and anew when
// etcd no longer knows it.
class etcd_session {
 public:
  // On a loop.
  explicit etcd_session(std::shared_ptr<const etcd_options> options);

  // `request` and `options`, which has a timeout, must outlive the await.
  [[nodiscard]] task<result<bytes_message>> unary(const char* method, const bytes_message& request,
                                                  const call_options& options);
  // With the token of the last unary(). etcd checks it when the stream begins.
  [[nodiscard]] bidi_call<bytes_message, bytes_message> bidi(const char* method,
                                                             call_options options = {}) const;

 private:
  [[nodiscard]] task<status> authenticate(duration timeout);
  void identify(call_options& options) const;

  const std::shared_ptr<const etcd_options> options_;
  const generic_stub stub_;
  bool authenticated_ = false;
  std::string token_;  // empty: etcd does not ask who comes, or it has not been obtained yet
};

}  // namespace coracle::naming
