#include "xds/filters/known_filters.hpp"
#include "xds/filters/rbac_rules.hpp"
#include "xds/limits.hpp"
#include "xds/wire/rbac.pb.h"

#include <string>
#include <utility>

namespace coracle::xds {

namespace {

class filter_by_rules final : public filter {
 public:
  explicit filter_by_rules(server_internal::rule_set rules) : rules_(std::move(rules)) {}

  // With the messages of grpc-go.
  [[nodiscard]] status check_call(const server_context& call) const override {
    const auto decided = rules_.decide(server_internal::call_facts::of(call));
    if (decided.authorized) return {};
    if (!decided.rule) return status::permission_denied("incoming RPC did not match an allow policy");
    return status::permission_denied("incoming RPC matched a deny policy \"" + decided.rule->name + "\"");
  }

 private:
  const server_internal::rule_set rules_;
};

class rbac_type final : public filter_type {
 public:
  rbac_type() noexcept : filter_type(side::servers) {}

  [[nodiscard]] bool has_type(std::string_view type) const noexcept override {
    return type == "envoy.extensions.filters.http.rbac.v3.RBAC";
  }
  [[nodiscard]] bool has_override(std::string_view type) const noexcept override {
    return type == "envoy.extensions.filters.http.rbac.v3.RBACPerRoute";
  }
  [[nodiscard]] std::shared_ptr<const filter> read(const filter_source& from, matcher_reader& matchers,
                                                   const field_path& at) const override {
    return filter_of(parsed<wire::RbacFilter>(from, at), from, matchers, at);
  }
  // Without rules, it admits every call of its routes.
  [[nodiscard]] std::shared_ptr<const filter> read_override(const filter_source& from,
                                                            matcher_reader& matchers,
                                                            const field_path& at) const override {
    const auto override_of = parsed<wire::RbacPerRoute>(from, at);
    return filter_of(override_of.rbac(), from, matchers, at.at("rbac"));
  }

 private:
  static std::shared_ptr<const filter> filter_of(const wire::RbacFilter& by, const filter_source& from,
                                                 matcher_reader& matchers, const field_path& at) {
    if (!by.has_rules()) return nullptr;
    auto rules = read_rbac(by.rules(), from.name, matchers, at.at("rules"));
    if (!rules) return nullptr;
    return std::make_shared<const filter_by_rules>(*std::move(rules));
  }
};

}  // namespace

std::shared_ptr<const filter_type> rbac_filter() { return std::make_shared<const rbac_type>(); }

}  // namespace coracle::xds
