// message_watch: who is told of a call's messages, on either side.
#pragma once

#include "coracle/rpc/message_size.hpp"

namespace coracle::rpc {

// A call has one when an observer watches it, else null: one branch.
class message_watch {
 public:
  virtual void message_sent(message_size m) noexcept = 0;
  virtual void message_received(message_size m) noexcept = 0;

 protected:
  ~message_watch() = default;
};

}  // namespace coracle::rpc
