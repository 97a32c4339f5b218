// policy_config: the configuration of a balancing policy, and with it of the policies below it.
#pragma once

#include "rpc/policy_outline.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace coracle::client {

class balancer;
class balancer_host;

// Immutable, and shared by the loops; see `balancing`.
class policy_config {
 public:
  policy_config(const policy_config&) = delete;
  policy_config& operator=(const policy_config&) = delete;
  virtual ~policy_config() = default;
  // Static text. A balancer that was made for one configuration takes every other one of the same family.
  [[nodiscard]] virtual std::string_view family() const noexcept = 0;
  // `other` is of the same family.
  [[nodiscard]] virtual bool equals(const policy_config& other) const noexcept = 0;
  // For operators: static text, such as "round_robin".
  [[nodiscard]] virtual std::string_view name() const noexcept { return family(); }
  // For operators: the policy with those below it.
  [[nodiscard]] virtual rpc::policy_outline outline() const { return {std::string(name())}; }
  [[nodiscard]] virtual std::unique_ptr<balancer> make(balancer_host& host) const = 0;

 protected:
  policy_config() noexcept = default;
};

}  // namespace coracle::client
