// message_arena: a protobuf arena that calls use one after another.
#pragma once

#include <memory>

namespace google::protobuf {
class Arena;
}

namespace coracle::server_internal {

// A protobuf arena over a block that grows, within bounds, to the size that earlier calls needed. Belongs to
// one loop.
class message_arena {
 public:
  message_arena();
  message_arena(const message_arena&) = delete;
  message_arena& operator=(const message_arena&) = delete;
  ~message_arena();

  [[nodiscard]] google::protobuf::Arena& get() noexcept;
  // Destroys what the arena contains.
  void reset();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace coracle::server_internal
