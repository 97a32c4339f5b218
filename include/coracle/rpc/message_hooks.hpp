// message_hooks: what an interceptor does with the messages of a call.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/rpc/intercepted_message.hpp"

namespace coracle {

/// Sees each message of a call, on either side. An interceptor passes it to next():
///
///   class checks final : public coracle::message_hooks {
///     coracle::status on_request(coracle::intercepted_message& m) override { ... }
///   };
///   co_return co_await next(std::make_shared<checks>());
///
/// Requests pass the hooks of the interceptors from the outermost to the innermost, replies from the
/// innermost to the outermost. Each function returns OK to let the message pass, changed or not, or another
/// status, which ends the call. An exception ends it, too, as one of the interceptor itself does.
///
/// The call keeps the hooks until its last message has passed them, which may be after intercept() has ended:
/// a client may read the rest of a stream later. Hooks without state may be shared by all calls; hooks with
/// state are made for each call. The functions run on the loop of the call and must not block; they do not
/// wait, and do not end the call except by what they return.
class message_hooks {
 public:
  virtual ~message_hooks() = default;
  virtual status on_request(intercepted_message& /*m*/) { return {}; }
  virtual status on_reply(intercepted_message& /*m*/) { return {}; }
};

}  // namespace coracle
