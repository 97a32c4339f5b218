// A server's connection: what it holds in memory, and what becomes of a peer that does not read.
#include "base/if_memory_allows.hpp"
#include "transport/connection.hpp"

#include <cstddef>
#include <new>

namespace coracle::transport {

namespace {

// Who holds more is looked at in every turn.
constexpr std::size_t light_bytes = 64u << 10;
// What an owner is told of.
constexpr std::size_t memory_step_bytes = 4096;
// Beside what the engine counts: for the connection, and for each open exchange (the call, its coroutine).
constexpr std::size_t connection_cost_bytes = 1024;
constexpr std::size_t exchange_cost_bytes = 2048;

}  // namespace

void connection::note_congestion() noexcept {
  congested_ = acceptor_ && engine_.unread_bytes() > unread_bytes_max_;
  if (congested_) stall_.watch(home_.now());
}

// Those that wait begin one by one, as long as what they answer finds room.
void connection::mind_congestion() noexcept {
  note_congestion();
  while (!waiting_.empty() && !congested_ && !given_up_) {
    const stream_ref next = waiting_.front();
    waiting_.erase(waiting_.begin());  // first: what ends inside is taken out of the list
    if (void* const user = engine_.user_of(next)) {
      try {
        static_cast<exchange_handler*>(user)->on_turn();
      } catch (const std::bad_alloc&) {
        out_of_memory(next);
      }
    }
    note_congestion();
  }
}

void connection::mind_memory() noexcept {
  const std::size_t now = connection_cost_bytes + engine_.memory_bytes() + in_flight_.capacity() +
                          (deferred_ ? deferred_->unread.capacity() : 0) + stream_->memory_bytes() +
                          engine_.open_streams() * exchange_cost_bytes;
  weigh_ = now > light_bytes || congested_ || !waiting_.empty();
  const std::size_t apart = now > told_memory_bytes_ ? now - told_memory_bytes_ : told_memory_bytes_ - now;
  if (apart < memory_step_bytes) return;
  told_memory_bytes_ = now;
  owner_.on_memory(*this, now);
}

// While receiving is paused nothing else would have the account looked at.
void connection::memory_changed() noexcept {
  if (!acceptor_ || closing_) return;
  weigh_ = true;
  touch();
}

void connection::mind_stall() noexcept {
  if (!acceptor_) return;
  const time_point sending_since = stream_->sending() ? last_send_ : never;
  // A window that the peer has opened may be among what waits for the decode budget.
  const bool heard = !is_deferred() && !just_resumed_;
  if (stall_.on_time(home_.now(), congested_, engine_.data_sent(), sending_since, heard))
    engine_.fail(error_code::enhance_your_calm, "replies are not read");
}

void connection::give_up(const char* reason) noexcept {
  if (given_up_) return;
  given_up_ = reason;
  weigh_ = true;
  touch();
}

void connection::press(bool on) noexcept {
  pressed_ = on;
  withholds_credit_ = on || is_deferred();
  engine_.withhold_credit(on);
  engine_.refuse_streams(on);
  touch();
}

void connection::set_kept(stream_ref s, std::size_t bytes) noexcept {
  engine_.set_kept(s, bytes);
  if (!acceptor_) return;
  weigh_ = true;
  // At once: what one read brings may be decoded to some hundred messages.
  if (bytes == 0 || bytes >= large_message_bytes) mind_memory();
}

void connection::wait_turn(stream_ref s) noexcept {
  if (!base::if_memory_allows([&] { waiting_.push_back(s); })) return give_up("out of memory");
  weigh_ = true;
}

}  // namespace coracle::transport
