#include "rpc/event_trace.hpp"

#include <algorithm>

namespace coracle::calls {

namespace {

// A server's words may be any bytes, and a string of protobuf's may not.
std::string printable(std::string_view text) {
  std::string clean(text.substr(0, event_trace::text_bytes_max));
  for (char& c : clean)
    if (c < ' ' || c > '~') c = '?';
  return clean;
}

}  // namespace

void event_trace::add(wall_time now, std::string_view what, traced_event::severity how,
                      std::uint64_t subchannel) {
  if (ring_.size() < events_max) ring_.emplace_back();
  traced_event& e = ring_[added_++ % events_max];
  e.when = now;
  e.what = printable(what);
  e.how = how;
  e.subchannel = subchannel;
}

std::vector<traced_event> event_trace::latest() const {
  std::vector<traced_event> all = ring_;
  if (all.size() == events_max)
    std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(added_ % events_max), all.end());
  return all;
}

}  // namespace coracle::calls
