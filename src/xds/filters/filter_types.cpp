#include "xds/filters/filter.hpp"

#include "base/printable.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/listener.pb.h"

#include <string>
#include <utility>

namespace coracle::xds {

namespace {

// It passes calls on, and reads no field.
class router final : public filter_type {
 public:
  router() noexcept : filter_type(side::both, true) {}

  [[nodiscard]] bool has_type(std::string_view type) const noexcept override {
    return type == "envoy.extensions.filters.http.router.v3.Router";
  }
  [[nodiscard]] std::shared_ptr<const filter> read(const filter_source& from, matcher_reader&,
                                                   const field_path& at) const override {
    wire::Router parsed;
    if (!from.is_json && !parsed.ParseFromArray(from.content.data(), static_cast<int>(from.content.size())))
      at.refuse("is not a valid " + std::string(from.type));
    return nullptr;
  }
  [[nodiscard]] std::shared_ptr<const filter> read_override(const filter_source&, matcher_reader&,
                                                            const field_path& at) const override {
    at.refuse("overrides the router, which has nothing to override");
  }
};

}  // namespace

void filter_type::require_message(const filter_source& from, const field_path& at) {
  if (from.is_json)
    at.refuse("is a TypedStruct of " + base::printable(from.type) + ", which is read as a message alone");
}

filter_types::filter_types(std::vector<std::shared_ptr<const filter_type>> of_program) {
  all_.push_back(std::make_shared<const router>());
  for (auto& each : of_program) all_.push_back(std::move(each));
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
