#include "server/authorization/condition.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace coracle::server_internal {

namespace {

// A condition of a function.
template <class Test>
class tested final : public condition {
 public:
  explicit tested(Test test) : test_(std::move(test)) {}
  [[nodiscard]] bool matches(const call_facts& call) const override { return test_(call); }

 private:
  const Test test_;
};

template <class Test>
condition_ptr made_of(Test test) {
  return std::make_unique<const tested<Test>>(std::move(test));
}

// Whether a name of that kind fits; nothing if there is none.
std::optional<bool> fits(const auth_context& client, peer_identity::kind kind, const text_condition& name) {
  std::optional<bool> found;
  for (const peer_identity& i : client.identities()) {
    if (i.type() != kind) continue;
    if (name.matches(i.value())) return true;
    found = false;
  }
  return found;
}

bool is_named(const auth_context& client, const text_condition& name) {
  if (!client.peer_verified()) return name.matches("");
  if (const auto by_uri = fits(client, peer_identity::kind::uri, name)) return *by_uri;
  if (const auto by_host = fits(client, peer_identity::kind::dns_name, name)) return *by_host;
  return name.matches(client.subject());
}

}  // namespace

condition_ptr all_of(std::vector<condition_ptr> these) {
  return made_of([these = std::move(these)](const call_facts& call) {
    return std::ranges::all_of(these, [&](const condition_ptr& c) { return c->matches(call); });
  });
}

condition_ptr any_of(std::vector<condition_ptr> these) {
  return made_of([these = std::move(these)](const call_facts& call) {
    return std::ranges::any_of(these, [&](const condition_ptr& c) { return c->matches(call); });
  });
}

condition_ptr negated(condition_ptr of) {
  return made_of([of = std::move(of)](const call_facts& call) { return !of->matches(call); });
}

condition_ptr always(bool matches) {
  return made_of([matches](const call_facts&) { return matches; });
}

condition_ptr path_matches(text_condition_ptr of) {
  return made_of([of = std::move(of)](const call_facts& call) { return of->matches(call.path); });
}

condition_ptr peer_is_in(const net::address_range& range) {
  return made_of([range](const call_facts& call) { return range.contains(net::without_mapping(call.peer)); });
}

condition_ptr local_is_in(const net::address_range& range) {
  return made_of(
      [range](const call_facts& call) { return range.contains(net::without_mapping(call.local)); });
}

condition_ptr local_port_is(std::uint32_t port) {
  return made_of([port](const call_facts& call) { return call.local.is_ip() && call.local.port() == port; });
}

condition_ptr is_authenticated(text_condition_ptr name) {
  return made_of([name = std::move(name)](const call_facts& call) {
    return call.auth && call.auth->type() == "tls" && (!name || is_named(*call.auth, *name));
  });
}

}  // namespace coracle::server_internal
