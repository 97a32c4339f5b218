// exposition_format: the text format in which a scraper gets metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal::prometheus {

// How names that Prometheus did not permit before its version 3 are written.
enum class name_escaping : std::uint8_t { allow_utf8, underscores, dots, values };

// What a scraper gets. A value.
struct exposition_format {
  enum class syntax : std::uint8_t { text, openmetrics };
  syntax kind = syntax::text;
  std::string_view version = "0.0.4";  // static
  std::optional<name_escaping> escaping;  // if the scraper has named one

  [[nodiscard]] std::string content_type() const;
};

// Chooses the format that the Accept field of a request prefers; of several with one weight, the first one.
// Text 0.0.4 if there is none, or none of them is known, because Prometheus reads it whatever it has asked
// for.
[[nodiscard]] exposition_format format_for(std::string_view accept) noexcept;

}  // namespace coracle::telemetry_internal::prometheus
