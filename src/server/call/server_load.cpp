#include "server/call/server_load.hpp"

namespace coracle::server_internal {

std::string server_load::report_with(const load_report* own, time_point now) {
  if (const std::uint64_t v = of_.version();
      !read_at_ || v != version_ || now - *read_at_ >= load_sources::interval) {
    kept_ = of_.at(now);
    serialized_ = kept_.serialize();
    version_ = v;
    read_at_ = now;
  }
  return own && !own->empty() ? own->or_else(kept_).serialize() : serialized_;
}

}  // namespace coracle::server_internal
