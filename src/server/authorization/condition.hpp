// condition: what a rule of authorization requires of a call: a tree that does not change (gRFC A41).
#pragma once

#include "net/address_range.hpp"
#include "server/authorization/call_facts.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

class condition {
 public:
  condition() noexcept = default;
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;
  virtual ~condition() = default;
  // Any thread.
  [[nodiscard]] virtual bool matches(const call_facts& call) const = 0;
};
using condition_ptr = std::unique_ptr<const condition>;

// What a name or a path is compared with. Those who read policies have their own: only those of a control
// plane may need regular expressions.
class text_condition {
 public:
  text_condition() noexcept = default;
  text_condition(const text_condition&) = delete;
  text_condition& operator=(const text_condition&) = delete;
  virtual ~text_condition() = default;
  [[nodiscard]] virtual bool matches(std::string_view text) const = 0;
};
using text_condition_ptr = std::unique_ptr<const text_condition>;

[[nodiscard]] condition_ptr all_of(std::vector<condition_ptr> these);  // none: it matches
[[nodiscard]] condition_ptr any_of(std::vector<condition_ptr> these);  // none: it does not match
[[nodiscard]] condition_ptr negated(condition_ptr of);
[[nodiscard]] condition_ptr always(bool matches);
[[nodiscard]] condition_ptr path_matches(text_condition_ptr of);
[[nodiscard]] condition_ptr peer_is_in(const net::address_range& range);
[[nodiscard]] condition_ptr local_is_in(const net::address_range& range);
[[nodiscard]] condition_ptr local_port_is(std::uint32_t port);
// The connection is one of TLS, whether the client has a certificate or not; with `name`, one of the names in
// its certificate fits: those of URIs, or if there are none those of hosts, or else the subject. A client
// without a certificate has the name "".
[[nodiscard]] condition_ptr is_authenticated(text_condition_ptr name);

}  // namespace coracle::server_internal
