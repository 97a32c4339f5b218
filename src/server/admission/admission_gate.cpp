#include "server/admission/admission_gate.hpp"

#include "coracle/coro/executor.hpp"
#include "runtime/backend.hpp"

namespace coracle::server_internal {

namespace {

// When clients may retry rejected calls: after this, and at most twice as much again, by chance, because they
// were rejected together.
constexpr int retry_ms_min = 100;
constexpr int retry_ms_spread = 200;
constexpr int do_not_retry = -1;

}  // namespace

struct admission_gate::posted_advance : coro::runnable {
  explicit posted_advance(admission_gate& g) noexcept : gate(&g) {
    run = [](coro::runnable& w) noexcept {
      auto& self = static_cast<posted_advance&>(w);
      self.is_posted = false;
      if (self.gate) self.gate->advance();
      else delete &self;
    };
  }
  admission_gate* gate;
  bool is_posted = false;
};

admission_gate::admission_gate(loop& on, const admission_options& o, std::size_t methods)
    : loop_(on),
      seed_(on.io().random()),
      control_(o, methods, seed_),
      posted_(new posted_advance(*this)),
      log_(on, "the overload protection has") {
  fire = [](coro::timer& t) noexcept { static_cast<admission_gate&>(t).advance(); };
}

admission_gate::~admission_gate() {
  if (timer::holder) loop_.disarm(*this);
  if (posted_->is_posted) posted_->gate = nullptr;
  else delete posted_;
}

admission_gate::entry admission_gate::enter(limited_call& c) noexcept {
  const entry e = control_.enter(c, loop_.now());
  if (e == entry::waits) schedule();
  return e;
}

void admission_gate::ended(const limited_call& c, bool ok) noexcept {
  control_.ended(c, ok, loop_.now());
  if (control_.waiting() != 0) schedule();
}

void admission_gate::released() noexcept {
  control_.released();
  if (control_.waiting() != 0) schedule();
}

void admission_gate::set_bounds(const admission_options& o) noexcept {
  control_.set_bounds(o);
  schedule();
}

void admission_gate::advance() noexcept {
  control_.advance(loop_.now());
  schedule();
}

// What is due at once is posted, because the calls that are admitted run within: a call that ends would begin
// the next one, and that the next.
void admission_gate::schedule() noexcept {
  const time_point now = loop_.now();
  const time_point due = control_.next_event(now);
  if (due <= now) {
    if (posted_->is_posted) return;
    posted_->is_posted = true;
    return loop_.post(*posted_);
  }
  if (due == never || (timer::holder && when <= due)) return;
  if (timer::holder) loop_.disarm(*this);
  loop_.arm(*this, due);
}

std::optional<int> admission_gate::count_rejection(criticality level, const rejection& r,
                                                   const net::address& peer) noexcept {
  log_.count(r, peer);
  if (&r == &rejection::too_late()) {
    ++rejected_late_;
    return std::nullopt;
  }
  if (level < criticality::critical) return do_not_retry;
  return retry_ms_min + static_cast<int>(loop_.io().random() % (retry_ms_spread + 1));
}

}  // namespace coracle::server_internal
