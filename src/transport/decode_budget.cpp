#include "transport/decode_budget.hpp"

#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"
#include "transport/http2_instruments.hpp"

#include <utility>

namespace coracle::transport {

decode_budget::decode_budget() noexcept
    : refill_(*this,
              [](coro::runnable& w) noexcept {
                decode_budget& self = static_cast<hook&>(w).budget;
                self.refill_queued_ = false;
                self.left_ = iteration_bytes;
              }),
      grant_(*this, [](coro::runnable& w) noexcept { static_cast<hook&>(w).budget.grant_shares(); }) {
  // Grants shares in every second iteration: what I/O has received while shares were granted is answered, and
  // the answers are passed to the kernel, before the next ones.
  run = [](coro::runnable& w) noexcept {
    auto& self = static_cast<decode_budget&>(w);
    if ((self.yields_to_others_ = !self.yields_to_others_)) coro::this_executor().post_next_turn(self);
    else coro::this_executor().at_turn_end(self.grant_);
  };
}

void decode_budget::queue_refill() noexcept {
  refill_queued_ = true;
  coro::this_executor().post_next_turn(refill_);
}

void decode_budget::read_clock(duration limit) noexcept {
  loop* const here = loop::current();
  if (!here || here->io().now() - here->now() < limit) return;
  left_ = std::min({left_, floor_, std::int64_t{0}});
  refill_soon();
}

bool decode_budget::spent_at_checkpoint() noexcept {
  if (left_ > floor_) read_clock(small_messages_time);
  checkpoint_ = std::max(floor_, left_ - checkpoint_bytes);
  return spent();
}

void decode_budget::defer(deferred_decode& d) noexcept {
  if (d.linked()) return;
  ++connection_counts::here().deferrals;
  waiting_.push_back(d);
  if (!std::exchange(shares_queued_, true)) coro::this_executor().post_next_turn(*this);
}

void decode_budget::grant_shares() noexcept {
  in_share_ = true;
  do {
    deferred_decode* const d = waiting_.pop_front();
    if (!d) break;
    floor_ = left_ - share_bytes;
    checkpoint_ = std::max(floor_, left_ - checkpoint_bytes);
    if (d->continue_decoding() && !d->linked()) waiting_.push_back(*d);
  } while (left_ > 0);
  in_share_ = false;
  floor_ = checkpoint_ = 0;
  shares_queued_ = false;
  refill_soon();
  if (waiting_.empty()) return;
  shares_queued_ = true;
  coro::this_executor().post_next_turn(*this);
}

}  // namespace coracle::transport
