#include "streams.hpp"

namespace coracle::c_abi {

void stream::send(command c, bool may_be_late) {
  const shared_runtime::use using_runtime(*owner_);
  const std::lock_guard lock(changing_);
  if (has_ended()) {
    if (may_be_late) return;
    throw failure(CORACLE_SHUT_DOWN, "the call of " + path_ + " has ended: it takes no operation any more");
  }
  using kind = command::kind;
  if (c.operation) c.operation->call = handle_;
  if (c.type == kind::write) {
    if (writes_over_)
      throw failure(CORACLE_WRONG_STATE, "the call of " + path_ + " takes no message after its last one");
    writes_over_ = static_cast<const outgoing&>(*c.operation).last;
  } else if (c.type == kind::writes_done) {
    writes_over_ = true;
  } else if (c.type == kind::headers) {
    if (std::exchange(asked_headers_, true))
      throw failure(CORACLE_WRONG_STATE,
                    "the initial metadata of the call of " + path_ + " was asked for twice: ask once");
  } else if (c.type == kind::finish) {
    if (std::exchange(asked_finish_, true))
      throw failure(CORACLE_WRONG_STATE,
                    "the call of " + path_ + " was finished twice: finish each call once");
    writes_over_ = true;
  }
  inbox_.push_back(std::move(c));
  if (keep_) return;
  keep_ = shared_from_this();
  where_.post(*this);
}

void stream::arrived(coro::runnable& w) noexcept {
  auto& self = static_cast<stream&>(w);
  std::shared_ptr<stream> keep;
  {
    const std::lock_guard lock(self.changing_);
    keep = std::move(self.keep_);
    self.arrived_.swap(self.inbox_);
  }
  for (command& c : self.arrived_) self.take(c);
  self.arrived_.clear();
}

void stream::end_wish(wish w) noexcept {
  try {
    auto over = std::make_unique<completion>(CORACLE_EVENT_READ, w.to);
    over->outcome = end_;
    over->call = handle_;
    add_metadata(*over);
    completion::finish(std::move(over));
  } catch (...) {
    where_.log().write(log_room::adapters, log_level::error, "no memory for an event of the C interface");
  }
}

std::unique_ptr<completion> stream::next_wanted() {
  if (wanted_.empty()) return nullptr;
  wish& oldest = wanted_.front();
  auto reading = std::make_unique<completion>(CORACLE_EVENT_READ, oldest.to);
  reading->call = handle_;
  wish_continues_ = --oldest.count != 0;
  if (!wish_continues_) wanted_.pop_front();
  return reading;
}

void stream::end_reads(std::unique_ptr<completion> reading, const status& s) noexcept {
  reads_over_ = true;
  end_ = s;
  if (reading) {
    if (!wish_continues_) wanted_.push_front({reading->to(), reservation(reading->to().queue), 1});
  }
  for (; !wanted_.empty(); wanted_.pop_front()) end_wish(std::move(wanted_.front()));
  reads_ended();
}

void stream::end(const status& s) noexcept {
  if (!reads_over_) end_reads(nullptr, s);
  std::shared_ptr<stream> keep;
  std::vector<command> late;
  {
    const std::lock_guard lock(changing_);
    ended_.store(true, std::memory_order_release);
    late.swap(inbox_);
  }
  const status reason = end_.ok() ? status::cancelled("the call has ended") : end_;
  for (auto& w : writes_) {
    w->outcome = reason;
    completion::finish(std::move(w));
  }
  writes_.clear();
  for (auto* const left : {&headers_, &finish_}) {
    if (*left) (*left)->outcome = left == &finish_ ? end_ : reason;
    completion::finish(std::move(*left));
  }
  for (command& c : late) take(c);
}

void stream::take(command& c) noexcept {
  using kind = command::kind;
  if (has_ended()) {
    // It was sent before the end.
    if (c.type == kind::read) return end_wish({std::move(c.to), std::move(c.reserved), c.count});
    if (!c.operation) return;
    c.operation->outcome = end_.ok() ? status::cancelled("the call has ended") : end_;
    return completion::finish(std::move(c.operation));
  }
  switch (c.type) {
    case kind::read:
      if (reads_over_) return end_wish({std::move(c.to), std::move(c.reserved), c.count});
      wanted_.push_back({std::move(c.to), std::move(c.reserved), c.count});
      read_wake_.set();
      return;
    case kind::write:
      writes_.push_back(std::unique_ptr<outgoing>(static_cast<outgoing*>(c.operation.release())));
      write_wake_.set();
      return;
    case kind::writes_done:
      half_close_ = true;
      write_wake_.set();
      return;
    case kind::headers:
      headers_ = std::move(c.operation);
      headers_wake_.set();
      return;
    case kind::finish:
      finish_ = std::move(c.operation);
      half_close_ = draining_ = true;
      if (reads_over_) reads_ended();
      read_wake_.set();
      write_wake_.set();
      return;
    default: obey(c);
  }
}

void stream::read(std::uint32_t count, const destination& to) {
  if (count == 0) invalid("count is 0: ask for one message at least");
  send({.type = command::kind::read, .count = count, .to = to, .reserved = reservation(to.queue)});
}
void stream::write(std::unique_ptr<outgoing> message) {
  send({.type = command::kind::write, .operation = std::move(message)});
}
void stream::headers(std::unique_ptr<completion> c) {
  send({.type = command::kind::headers, .operation = std::move(c)});
}
void stream::finish(std::unique_ptr<completion> c) {
  send({.type = command::kind::finish, .operation = std::move(c)});
}
void stream::answer_with(answer) {
  throw failure(CORACLE_WRONG_STATE,
                "the call of " + path_ + " is a client's, and only that of a server is answered");
}
void stream::send_headers(metadata) {
  throw failure(CORACLE_WRONG_STATE,
                "the call of " + path_ + " is a client's, whose initial metadata is in coracle_call_options");
}

std::span<const coracle_pair> stream::security() {
  throw failure(CORACLE_WRONG_STATE,
                "the call of " + path_ + " is a client's, and only that of a server tells who calls");
}

void stream::released() noexcept {
  try {
    send({.type = command::kind::release}, true);
  } catch (...) {  // the runtime has ended, and the call with it
  }
}

}  // namespace coracle::c_abi
