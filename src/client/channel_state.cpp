#include "client/channel_state.hpp"

#include "client/shard.hpp"
#include "coracle/base/assert.hpp"

#include <utility>

namespace coracle::client {

channel_state::channel_state(runtime& on, std::shared_ptr<transport::connector> to,
                             transport::channel_credentials c)
    : owner(on),
      connector(std::move(to)),
      credentials(std::move(c)),
      authority(transport::authority_of(credentials, connector->authority())),
      target{transport::scheme_of(credentials), authority, this},
      shards_(on.size(), nullptr) {}

void channel_state::begin(calls::call_attempt& a) noexcept {
  if (shard* s = here(*a.terms().home)) return s->begin(a);
  a.fail(status::unavailable("the channel or its runtime is ending"), calls::refusal::final);
}

shard* channel_state::here(loop& current) {
  CORACLE_ASSERT(&current.owner() == &owner,
                 "a channel is used on the loops of its own runtime: construct it with this one");
  shard*& mine = shards_[current.index()];
  if (mine) return mine;
  const std::lock_guard lock(mutex_);
  if (closed_ || owner.stopping()) return nullptr;
  auto made = std::make_unique<shard>(std::static_pointer_cast<channel_state>(shared_from_this()), current);
  mine = made.get();
  doors_.push_back(io::resident::settle(current, std::move(made)));
  return mine;
}

void channel_state::forget(loop& where) noexcept { shards_[where.index()] = nullptr; }

void channel_state::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& door : doors_) door->ask_to_leave();
}

}  // namespace coracle::client
