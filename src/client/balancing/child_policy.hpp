// child_policy: a balancer below one that has several, with the state that it has published.
#pragma once

#include "client/balancing/policy_slot.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::client {

// The servers of a child that has some of its own; null: those that its parent has.
using servers_of_child = std::shared_ptr<const std::vector<endpoint>>;

// Of a child with a name.
[[nodiscard]] inline rpc::policy_outline outline_of_child(std::string name, const balancing& policy,
                                                          const servers_of_child& servers) {
  std::string detail;
  if (servers && !servers->empty()) detail = "servers: " + std::to_string(servers->size());
  return {std::move(name), std::move(detail), {policy.config().outline()}};
}

// How good a state is for calls: that of several children is the best of theirs.
[[nodiscard]] constexpr int rank_of(connectivity c) noexcept {
  switch (c) {
    case connectivity::ready: return 3;
    case connectivity::connecting: return 2;
    case connectivity::idle: return 1;
    default: return 0;
  }
}

// Arranges children in the order of `wanted`: those whose names it has are kept, others are made by `make`,
// and those that it does not name end. If an allocation fails, nothing has changed.
template <class Child, class Wanted, class Make>
void arrange(std::vector<std::unique_ptr<Child>>& children, const std::vector<Wanted>& wanted, Make make) {
  std::map<std::string_view, std::unique_ptr<Child>*> before;
  for (std::unique_ptr<Child>& c : children) before.emplace(c->name(), &c);
  std::vector<std::unique_ptr<Child>> after;
  std::vector<std::unique_ptr<Child>*> kept;
  after.reserve(wanted.size());
  kept.reserve(wanted.size());
  for (const Wanted& w : wanted) {
    const auto known = before.find(w.name);
    kept.push_back(known == before.end() ? nullptr : known->second);
    after.push_back(known == before.end() ? make(w) : nullptr);
    if (known != before.end()) before.erase(known);  // a second one of the name is another child
  }
  for (std::size_t i = 0; i < after.size(); ++i)
    if (kept[i]) after[i] = std::move(*kept[i]);
  children.swap(after);
}

class child_policy;

class child_policy_owner {
 public:
  // The child has published a state. What the owner does here must end with publish(); see balancer_host.
  virtual void on_child(child_policy& c) noexcept = 0;

 protected:
  ~child_policy_owner() = default;
};

class child_policy final : private forwarding_host {
 public:
  child_policy(balancer_host& above, child_policy_owner& owner, std::string name)
      : forwarding_host(above), owner_(owner), name_(std::move(name)) {}
  child_policy(const child_policy&) = delete;
  child_policy& operator=(const child_policy&) = delete;
  ~child_policy() { balancer_.reset(); }

  void update(const balancing& policy, const std::vector<endpoint>& servers) {
    if (!balancer_.keeps(policy)) state_ = connectivity::connecting;
    if (balancer* const fresh = balancer_.update(policy, servers, *this)) fresh->start();
  }
  // Where all of its servers are, for metrics; empty: that is not known. Before the first update().
  void set_locality(std::string name) { locality_ = std::move(name); }
  // Whether its requests for another resolution are not passed on.
  void ignore_resolution_requests(bool ignore) noexcept { ignores_requests_ = ignore; }
  void connect() { balancer_->connect(); }
  [[nodiscard]] pick choose(const pick_info& call) { return balancer_->choose(call); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // CONNECTING until it has published one.
  [[nodiscard]] connectivity state() const noexcept { return state_; }
  [[nodiscard]] const status& reason() const noexcept { return reason_; }

 private:
  // balancer_host
  void resolve_again() noexcept override {
    if (!ignores_requests_) above_.resolve_again();
  }
  void publish(connectivity c, const status& reason) noexcept override {
    state_ = c;
    reason_ = reason;
    owner_.on_child(*this);
  }
  [[nodiscard]] server_labels labels() const override {
    server_labels of = above_.labels();
    if (!locality_.empty()) of.locality = locality_;
    return of;
  }
  [[nodiscard]] std::shared_ptr<shared_by_loops> shared(std::string_view name,
                                                        shared_by_loops_maker make) override {
    return above_.shared(name_ + "/" + std::string(name), make);
  }

  child_policy_owner& owner_;
  const std::string name_;
  std::string locality_;
  connectivity state_ = connectivity::connecting;
  status reason_;
  bool ignores_requests_ = false;
  policy_slot balancer_;
};

}  // namespace coracle::client
