// message_arena: memory for the messages of one call at a time, used again by the next.
#pragma once

#include <memory>

namespace google::protobuf {
class Arena;
}

namespace coracle::server_internal {

// A protobuf arena over a block that grows to what the calls before have needed, within bounds. Lives on a loop.
class message_arena {
 public:
  message_arena();
  message_arena(const message_arena&) = delete;
  message_arena& operator=(const message_arena&) = delete;
  ~message_arena();

  [[nodiscard]] google::protobuf::Arena& get() noexcept;
  // Destroys what is in it.
  void reset();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace coracle::server_internal
