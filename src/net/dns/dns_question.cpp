#include "net/dns/dns_question.hpp"

#include "net/dns/ares_answer.hpp"
#include "net/dns/dns_channel.hpp"
#include "net/name_error.hpp"

#include <utility>

namespace coracle::net {

dns_question::dns_question(dns_channel& to, std::string host, std::uint16_t port)
    : coro::stop_callback([](coro::stop_callback& c) noexcept {
        auto& self = static_cast<dns_question&>(c);
        // timeout() stops its task at the deadline that it also set: that is no cancellation.
        const bool late = self.channel_.home().now() >= self.deadline_;
        self.give_up(late ? name_late(self.host_) : name_stopped(self.host_));
      }),
      channel_(to),
      host_(std::move(host)),
      port_(port) {
  run = [](coro::work& w) noexcept { static_cast<dns_question&>(w).waiter_.resume(); };
  fire = [](coro::timer& t) noexcept {
    auto& self = static_cast<dns_question&>(t);
    self.give_up(name_late(self.host_));
  };
}

bool dns_question::start(std::coroutine_handle<> h, const coro::environment& e) {
  deadline_ = e.deadline;
  if (e.stop.stop_requested()) answer_.emplace(name_stopped(host_));
  else if (deadline_ <= channel_.home().now()) answer_.emplace(name_late(host_));
  else channel_.ask(*this);
  if (answer_) return false;  // a file knew it
  waiter_ = h;
  e.stop.subscribe(*this);
  if (deadline_ != never) channel_.home().arm(*this, deadline_);
  return true;
}

void dns_question::answered(int ares_status, const ares_addrinfo* found) {
  asked_ = nullptr;
  end(ares_answer(ares_status, found, host_, port_));
}

void dns_question::give_up(status why) noexcept {
  if (answer_) return;
  if (asked_) std::exchange(asked_, nullptr)->who = nullptr;
  line_.unlink();
  end(std::move(why));
}

void dns_question::end(result<std::vector<address>> answer) {
  answer_.emplace(std::move(answer));
  if (!waiter_) return;  // inside start(), which will see it
  coro::stop_callback::unlink();
  if (holder) channel_.home().disarm(*this);
  channel_.home().post(*this);
}

}  // namespace coracle::net
