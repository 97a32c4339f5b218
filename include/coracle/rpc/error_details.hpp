// error_details: the most common google.rpc error details, as plain values.
#pragma once

#include "coracle/base/clock.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {

/// google.rpc.ErrorInfo: the reason of an error, for programs. `reason` is a constant such as "TITLE_TAKEN",
/// which is unique within `domain` ("movies.example").
class error_info {
 public:
  static constexpr std::string_view type_name = "google.rpc.ErrorInfo";
  error_info() = default;
  error_info(std::string_view reason, std::string_view domain) : reason_(reason), domain_(domain) {}
  /// Adds an entry to the metadata.
  error_info& with(std::string_view key, std::string_view value) {
    metadata_.emplace_back(key, value);
    return *this;
  }

  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  [[nodiscard]] const std::string& domain() const noexcept { return domain_; }
  /// Returns the metadata value of `key`, if there is one; valid until the object changes.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const noexcept;

  [[nodiscard]] std::string to_bytes() const;
  static std::optional<error_info> from_bytes(std::string_view bytes);

 private:
  std::string reason_;
  std::string domain_;
  std::vector<std::pair<std::string, std::string>> metadata_;
};

/// google.rpc.RetryInfo: how long the client should wait before it retries.
class retry_info {
 public:
  static constexpr std::string_view type_name = "google.rpc.RetryInfo";
  retry_info() = default;
  explicit retry_info(duration delay) noexcept : delay_(delay) {}
  [[nodiscard]] duration delay() const noexcept { return delay_; }

  [[nodiscard]] std::string to_bytes() const;
  static std::optional<retry_info> from_bytes(std::string_view bytes);

 private:
  duration delay_{};
};

/// google.rpc.BadRequest: the invalid fields of a request.
class bad_request {
 public:
  static constexpr std::string_view type_name = "google.rpc.BadRequest";
  /// Adds a violation. `field` is a path such as "movie.title".
  bad_request& field(std::string_view field, std::string_view description) {
    violations_.emplace_back(field, description);
    return *this;
  }
  /// Returns pairs of a field and a description.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& violations() const noexcept {
    return violations_;
  }

  [[nodiscard]] std::string to_bytes() const;
  static std::optional<bad_request> from_bytes(std::string_view bytes);

 private:
  std::vector<std::pair<std::string, std::string>> violations_;
};

}  // namespace coracle
