// message_path: where the messages of an intercepted call pass on their way to and from the program.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/rpc/intercepted_message.hpp"

#include <memory>
#include <vector>

namespace coracle::rpc {

class call;

// A call without interceptors that look at its messages has a null pointer, which costs one branch per
// message.
class message_path {
 public:
  // A message has arrived, decompressed. Decodes it into `into`, unless the path keeps it for later. A status
  // that is not OK ends the call. Throws std::bad_alloc.
  virtual status received(call& c, const codec& k, void* into, bytes_view body) = 0;
  // A message is about to be encoded. A status that is not OK ends the call.
  virtual status sent(intercepted_message& /*m*/) { return {}; }
  // The program has read the end of the stream that it receives; possibly several times.
  virtual void incoming_ended() noexcept {}
  // No message follows on the stream that it sends.
  virtual void outgoing_ended() noexcept {}
  // Client: the response headers have arrived.
  virtual void headers_received(const metadata& /*initial*/) noexcept {}

 protected:
  ~message_path() = default;
};

// The hooks of one call, the outermost first.
using hook_list = std::vector<std::shared_ptr<message_hooks>>;

// Passes a message through all hooks. They throw what the hooks throw.
inline status pass_request(const hook_list& hooks, intercepted_message& m) {
  for (const auto& h : hooks)
    if (status failure = h->on_request(m); !failure.ok()) return failure;
  return {};
}
inline status pass_reply(const hook_list& hooks, intercepted_message& m) {
  for (auto h = hooks.rbegin(); h != hooks.rend(); ++h)
    if (status failure = (*h)->on_reply(m); !failure.ok()) return failure;
  return {};
}

}  // namespace coracle::rpc
