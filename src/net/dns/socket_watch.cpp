#include "net/dns/socket_watch.hpp"

#include "net/dns/dns_channel.hpp"

namespace coracle::net {

socket_watch::side::side(socket_watch& w, runtime_internal::operation::kind k,
                         runtime_internal::handle h) noexcept
    : owner(w) {
  what = k;
  on = h;
  complete = [](runtime_internal::operation& o, std::int64_t outcome) noexcept {
    side& self = static_cast<side&>(o);
    self.owner.ready(self, outcome);
  };
}

socket_watch::socket_watch(dns_channel& of, int theirs, runtime_internal::handle ours) noexcept
    : channel_(of),
      theirs_(theirs),
      ours_(ours),
      reading_(*this, runtime_internal::operation::kind::poll_in, ours),
      writing_(*this, runtime_internal::operation::kind::poll_out, ours) {}

socket_watch::~socket_watch() { channel_.home().io().close(ours_); }

void socket_watch::want(bool readable, bool writable) noexcept {
  reading_.wanted = readable;
  writing_.wanted = writable;
  look(reading_);
  look(writing_);
}

// A poll in flight that is no longer wanted is left running; its result is ignored.
void socket_watch::look(side& s) noexcept {
  if (!s.wanted || s.in_flight || retired_) return;
  s.in_flight = true;
  channel_.home().io().submit(s);
}

void socket_watch::ready(side& s, std::int64_t outcome) noexcept {
  s.in_flight = false;
  if (s.wanted && !retired_ && outcome >= 0) {
    busy_ = true;
    channel_.process(&s == &reading_ ? theirs_ : -1, &s == &writing_ ? theirs_ : -1);
    busy_ = false;
  }
  // A failed poll is not retried, since it would fail again: c-ares' timeout then ends the query.
  if (outcome >= 0) look(s);
  end_if_idle();
}

void socket_watch::retire() noexcept {
  retired_ = true;
  for (side* s : {&reading_, &writing_})
    if (s->in_flight) channel_.home().io().cancel(*s);
  end_if_idle();
}

void socket_watch::end_if_idle() noexcept {
  if (!retired_ || busy_ || reading_.in_flight || writing_.in_flight) return;
  dns_channel& channel = channel_;
  delete this;
  channel.watch_ended();
}

}  // namespace coracle::net
