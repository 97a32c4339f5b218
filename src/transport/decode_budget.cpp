#include "transport/decode_budget.hpp"

#include <utility>

namespace coracle::transport {

decode_budget::refill_hook::refill_hook(decode_budget& b) noexcept : budget(b) {
  run = [](coro::work& w) noexcept {
    decode_budget& self = static_cast<refill_hook&>(w).budget;
    self.refill_queued_ = false;
    self.left_ = iteration_bytes;
  };
}

decode_budget::decode_budget() noexcept : refill_(*this) {
  run = [](coro::work& w) noexcept { static_cast<decode_budget&>(w).grant_shares(); };
}

void decode_budget::queue_refill() noexcept {
  refill_queued_ = true;
  coro::this_executor().at_turn_end(refill_);
}

void decode_budget::defer(deferred_decode& d) noexcept {
  if (d.linked()) return;
  waiting_.push_back(d);
  if (!std::exchange(shares_queued_, true)) coro::this_executor().post_next_turn(*this);
}

void decode_budget::grant_shares() noexcept {
  in_share_ = true;
  do {
    deferred_decode* const d = waiting_.pop_front();
    if (!d) break;
    floor_ = left_ - share_bytes;
    if (d->continue_decoding() && !d->linked()) waiting_.push_back(*d);
  } while (left_ > 0);
  in_share_ = false;
  floor_ = 0;
  shares_queued_ = false;
  if (waiting_.empty()) return;
  shares_queued_ = true;
  coro::this_executor().post_next_turn(*this);
}

}  // namespace coracle::transport
