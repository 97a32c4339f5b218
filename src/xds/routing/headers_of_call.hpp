// headers_of_call: the metadata of a call, for the matchers of routes.
#pragma once

#include "coracle/rpc/metadata.hpp"
#include "xds/routing/header_matcher.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::xds {

class headers_of_call final : public header_source {
 public:
  explicit headers_of_call(const metadata& of) noexcept : of_(of) {}
  [[nodiscard]] std::optional<std::string> joined(std::string_view name) const override {
    const auto values = of_.find_all(name);
    if (values.empty()) return std::nullopt;
    std::string text(values.front());
    for (std::size_t i = 1; i < values.size(); ++i) text.append(",").append(values[i]);
    return text;
  }

 private:
  const metadata& of_;
};

}  // namespace coracle::xds
