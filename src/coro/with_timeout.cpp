#include "coracle/coro/with_timeout.hpp"

#include <algorithm>

namespace coracle::coro {

time_limit::time_limit(const environment& outer, duration limit) noexcept
    : time_limit(outer, this_executor(), deadline_after(this_executor().now(), limit)) {}

time_limit::time_limit(const environment& outer, executor& on, time_point end) noexcept
    : stop_(outer.stop),
      inner_{stop_.token(), std::min(outer.deadline, end), outer.call, outer.span},
      executor_(on) {
  fire = [](timer& t) noexcept {
    auto& self = static_cast<time_limit&>(t);
    self.expired_ = true;
    self.stop_.request_stop();
  };
  executor_.arm(*this, end);
}

time_limit::~time_limit() { executor_.disarm(*this); }

}  // namespace coracle::coro
