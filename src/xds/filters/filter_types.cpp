#include "xds/filters/known_filters.hpp"
#include "xds/wire/listener.pb.h"

namespace coracle::xds {

namespace {

class router final : public filter_type {
 public:
  router() noexcept : filter_type(side::both, true) {}

  [[nodiscard]] bool has_type(std::string_view type) const noexcept override {
    return type == "envoy.extensions.filters.http.router.v3.Router";
  }
  [[nodiscard]] std::shared_ptr<const filter> read(const filter_source& from, matcher_reader&,
                                                   const field_path& at) const override {
    if (!from.is_json) (void)parsed<wire::Router>(from, at);
    return nullptr;
  }
  [[nodiscard]] std::shared_ptr<const filter> read_override(const filter_source&, matcher_reader&,
                                                            const field_path& at) const override {
    at.refuse("overrides the router, which has nothing to override");
  }
};

}  // namespace

std::shared_ptr<const filter_type> router_filter() { return std::make_shared<const router>(); }

filter_types::filter_types(const std::vector<std::shared_ptr<const xds_filter_type>>& of_program)
    : all_{router_filter(), fault_filter(), stateful_session_filter(), rbac_filter()} {
  for (const auto& each : of_program)
    if (each) all_.push_back(filter_of_program(each));
}

const filter_type* filter_types::with_config(std::string_view type) const noexcept {
  for (const auto& each : all_)
    if (each->has_type(type)) return each.get();
  return nullptr;
}

const filter_type* filter_types::with_override(std::string_view type) const noexcept {
  for (const auto& each : all_)
    if (each->has_override(type)) return each.get();
  return nullptr;
}

const filter_types& filter_types::of_library() {
  static const filter_types all;
  return all;
}

}  // namespace coracle::xds
