#include "server/call/message_arena.hpp"

#include <google/protobuf/arena.h>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>

namespace coracle::server_internal {

namespace {

constexpr std::size_t first_block_bytes = 4096;
// An arena that needed more frees the rest when its call ends.
constexpr std::size_t kept_block_bytes_max = 64u << 10;

}  // namespace

struct message_arena::state {
  explicit state(std::size_t n) : size_bytes(n), block(new char[n]) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block.get();
    options.initial_block_size = n;
    arena.emplace(options);
  }
  std::size_t size_bytes;
  std::unique_ptr<char[]> block;
  std::optional<google::protobuf::Arena> arena;
};

message_arena::message_arena() : state_(std::make_unique<state>(first_block_bytes)) {}
message_arena::~message_arena() = default;

google::protobuf::Arena& message_arena::get() noexcept { return *state_->arena; }

void message_arena::reset() {
  const std::size_t needed = state_->arena->SpaceAllocated();
  if (needed <= state_->size_bytes || state_->size_bytes == kept_block_bytes_max) {
    state_->arena->Reset();
    return;
  }
  std::size_t larger = state_->size_bytes;
  while (larger < std::min(needed, kept_block_bytes_max)) larger *= 2;
  state_.reset();
  state_ = std::make_unique<state>(larger);
}

}  // namespace coracle::server_internal
