#include "client/balancing/outlier_detection.hpp"

#include "base/if_memory_allows.hpp"
#include "client/balancing/balancing_instruments.hpp"
#include "runtime/backend.hpp"

namespace coracle::client {

std::unique_ptr<balancer> outlier_detection_config::make(balancer_host& host) const {
  return std::make_unique<outlier_detection>(host);
}

outlier_detection::outlier_detection(balancer_host& host)
    : balancer(host),
      forwarding_host(host),
      ledger_(std::static_pointer_cast<outlier_ledger>(host.shared("outlier_detection", [](std::uint64_t) {
        return std::static_pointer_cast<shared_by_loops>(std::make_shared<outlier_ledger>());
      }))) {
  timer::fire = [](coro::timer& t) noexcept {
    outlier_detection& self = static_cast<outlier_detection&>(t);
    if (!base::if_memory_allows([&] { self.judge(); })) self.host_.out_of_memory();
  };
}

outlier_detection::~outlier_detection() {
  if (timer::holder) host_.owner_loop().disarm(*this);
  child_.reset();
  for (auto& [id, t] : dropped_) leave(t);
}

namespace {

// gRFC A61: a server is known by its addresses, in whatever order.
const net::address& name_of(const endpoint& server) noexcept {
  const net::address* first = &server.address();
  for (const net::address& a : server.other_addresses())
    if (a < *first) first = &a;
  return *first;
}

}  // namespace

void outlier_detection::update(const balancing& policy, const std::vector<endpoint>& servers) {
  const auto& config = static_cast<const outlier_detection_config&>(policy.config());
  config_ = policy.shared_config();
  judges_ = config.judges();
  if (!judges_) ledger_->bring_all_back();
  for (auto& [id, t] : subchannels_) {
    if (judges_ && !t.outcomes) t.outcomes = ledger_->join(name_of(t.at->where()));
    apply(t);
  }
  if (judges_) judge();
  else if (timer::holder) host_.owner_loop().disarm(*this);
  updating_ = true;
  balancer* const fresh = child_.update(config.child(), servers, *this);
  updating_ = false;
  for (auto& [id, t] : dropped_) leave(t);
  dropped_.clear();
  follow_addresses();
  if (fresh) fresh->start();
}

void outlier_detection::leave(tracked& t) noexcept {
  if (const auto joined = std::exchange(t.outcomes, nullptr)) ledger_->leave(joined);
}

// A server that has other addresses now is another one.
void outlier_detection::follow_addresses() {
  for (auto& [id, t] : subchannels_) {
    if (!t.outcomes || t.outcomes->server == name_of(t.at->where())) continue;
    auto joined = ledger_->join(name_of(t.at->where()));
    leave(t);
    t.outcomes = std::move(joined);
    apply(t);
  }
}

// All loops have the same time to wake up at: the first one judges, and the others learn what it found.
void outlier_detection::judge() {
  loop& here = host_.owner_loop();
  const auto& config = static_cast<const outlier_detection_config&>(*config_);
  std::vector<outlier_ledger::finding> found;
  const time_point next_sweep = ledger_->sweep(
      config.options(), here.now(), [&here] { return static_cast<std::uint32_t>(here.io().random() % 100); },
      found, config.listed());
  for (const outlier_ledger::finding& f : found) {
    if (f.unenforced.empty()) measure_ejection(host_.target(), config.service(), f.method);
    else measure_unenforced_ejection(host_.target(), config.service(), f.method, f.unenforced);
  }
  here.arm(*this, next_sweep);
  for (const auto& [id, t] : subchannels_) apply(t);
}

void outlier_detection::apply(const tracked& t) const noexcept {
  t.at->count_outcomes(judges_ ? t.outcomes : nullptr);
  t.at->eject(judges_ && t.outcomes ? ledger_->ejection_of(t.outcomes->server) : status());
}

subchannel& outlier_detection::make_subchannel(const endpoint& to, subchannel_user& user) {
  if (!user.has_choice) return above_.make_subchannel(to, user);
  tracked made{nullptr, judges_ ? ledger_->join(name_of(to)) : nullptr};
  try {
    made.at = &above_.make_subchannel(to, user);
    apply(subchannels_.emplace(made.at->id(), made).first->second);
  } catch (...) {
    if (made.at) above_.drop_subchannel(*made.at);
    leave(made);
    throw;
  }
  return *made.at;
}

void outlier_detection::drop_subchannel(subchannel& s) noexcept {
  if (auto known = subchannels_.extract(s.id())) {
    s.count_outcomes(nullptr);
    s.eject({});
    if (updating_) dropped_.insert(std::move(known));
    else leave(known.mapped());
  }
  above_.drop_subchannel(s);
}

}  // namespace coracle::client
