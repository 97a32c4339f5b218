#include "telemetry/otlp/delivery.hpp"

#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

// Counts items that a stop interrupts on their way.
class loss_guard {
 public:
  loss_guard(export_counts& counts, std::uint64_t items) noexcept : counts_(counts), items_(items) {}
  loss_guard(const loss_guard&) = delete;
  loss_guard& operator=(const loss_guard&) = delete;
  ~loss_guard() { counts_.add_lost(loss::shutdown, items_); }
  void dismiss() noexcept { items_ = 0; }

 private:
  export_counts& counts_;
  std::uint64_t items_;
};

task<> wait_for(event<>& e) { co_await e; }

}  // namespace

task<bool> wait_for(event<>& e, duration d) {
  const status in_time = co_await with_timeout(d, wait_for(e));
  co_return in_time.ok();
}

delivery::delivery(runtime& on, signal s, const otlp_destination& to, const endpoint_parts& at,
                   event<>& ending, bound_log log, export_counts& counts)
    : signal_(s),
      endpoint_(to.endpoint),
      channel_(on, s, to, at),
      ending_(ending),
      log_(log),
      counts_(counts),
      random_(on.at(0).io().random() | 1) {}

// Xorshift: it only has to differ between programs that lose a collector at the same moment.
duration delivery::next_pause(unsigned attempt) noexcept {
  random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
  const double share = static_cast<double>(random_ >> 11) * 0x1p-53;  // [0, 1)
  const double seconds = std::min(std::chrono::duration<double>(first_pause).count() *
                                      std::pow(pause_factor, static_cast<double>(attempt)),
                                  std::chrono::duration<double>(pause_max).count());
  return std::chrono::duration_cast<duration>(
      std::chrono::duration<double>(seconds * (1 - jitter + 2 * jitter * share)));
}

task<bool> delivery::send(export_request request, time_point give_up) {
  loss_guard guard(counts_, request.items);
  const bytes_message body(std::move(request.body));
  loop& here = *loop::current();
  export_answer answer;
  answer.reason = "it has asked for a pause";
  loss l = loss::timeout;
  time_point next = not_before_;
  for (unsigned attempt = 0; next < give_up && here.now() < give_up; ++attempt) {
    const duration pause = next - here.now();
    if (pause > duration::zero() && !ending_.is_set()) co_await wait_for(ending_, pause);
    const bool last = ending_.is_set();
    if (last) l = loss::shutdown;
    if (not_before_ > here.now()) break;
    if (attempt > 0) counts_.add_retry();
    answer = co_await channel_.send(body);
    if (answer.type == export_answer::kind::delivered) {
      guard.dismiss();
      delivered(answer, request.items);
      co_return true;
    }
    if (answer.type == export_answer::kind::refused) l = loss::refused;
    if (last || l == loss::refused) break;
    // At least as long as the collector asks for, which holds for later requests, too, and the backoff on top
    // of it.
    if (answer.pause) not_before_ = here.now() + std::min(*answer.pause, throttle_max);
    next = std::max(here.now(), not_before_) + next_pause(attempt);
  }
  guard.dismiss();
  failed(l, answer.reason, request.items);
  co_return false;
}

// An outage is logged when it begins and when it ends.
void delivery::failed(loss l, std::string_view reason, std::uint64_t items) noexcept {
  counts_.add_lost(l, items);
  if (std::exchange(failing_, true)) return;
  log_.warning("the collector ", endpoint_, " does not accept ", name_of(signal_), ": ", reason, ". ", items,
               " items are lost; coracle.telemetry.lost counts those that follow");
}

void delivery::delivered(const export_answer& a, std::uint64_t items) noexcept {
  const std::uint64_t rejected = std::min(a.rejected, items);
  counts_.add_delivered(items - rejected);
  counts_.add_lost(loss::rejected, rejected);
  if (std::exchange(failing_, false))
    log_.info("the collector ", endpoint_, " accepts ", name_of(signal_), " again");
  if ((rejected == 0 && a.reason.empty()) || std::exchange(warned_, true)) return;
  log_.warning("the collector ", endpoint_, " rejected ", rejected, " of ", items, " ", name_of(signal_),
               ": ", a.reason, ". Further rejections are counted in coracle.telemetry.lost");
}

}  // namespace coracle::telemetry_internal
