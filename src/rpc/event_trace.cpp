#include "rpc/event_trace.hpp"

#include "base/printable.hpp"

#include <algorithm>

namespace coracle::rpc {

void event_trace::add(wall_time now, std::string_view what, traced_event::severity how,
                      std::uint64_t subchannel) {
  if (ring_.size() < events_max) ring_.emplace_back();
  traced_event& e = ring_[added_++ % events_max];
  e.when = now;
  e.what = base::printable(what);
  e.how = how;
  e.subchannel = subchannel;
}

std::vector<traced_event> event_trace::latest() const {
  std::vector<traced_event> all = ring_;
  if (all.size() == events_max)
    std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(added_ % events_max), all.end());
  return all;
}

}  // namespace coracle::rpc
