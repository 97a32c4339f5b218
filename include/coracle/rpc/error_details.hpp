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
  /// The full name of the protobuf message.
  static constexpr std::string_view type_name = "google.rpc.ErrorInfo";
  /// Empty texts.
  error_info() = default;
  /// Copies the reason and the domain.
  error_info(std::string_view reason, std::string_view domain) : reason_(reason), domain_(domain) {}
  /// Adds an entry to the metadata.
  error_info& with(std::string_view key, std::string_view value) {
    metadata_.emplace_back(key, value);
    return *this;
  }

  /// Returns the constant that names the error within domain().
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  /// Returns who defines the reasons, usually the name of a service.
  [[nodiscard]] const std::string& domain() const noexcept { return domain_; }
  /// Returns the metadata value of `key`, if there is one; valid until the object changes.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const noexcept;

  /// Returns the protobuf message in binary form.
  [[nodiscard]] std::string to_bytes() const;
  /// Parses to_bytes(); nothing if the bytes are malformed.
  static std::optional<error_info> from_bytes(std::string_view bytes);

 private:
  std::string reason_;
  std::string domain_;
  std::vector<std::pair<std::string, std::string>> metadata_;
};

/// google.rpc.RetryInfo: how long the client should wait before it retries.
class retry_info {
 public:
  /// The full name of the protobuf message.
  static constexpr std::string_view type_name = "google.rpc.RetryInfo";
  /// No delay.
  retry_info() = default;
  /// The client should wait for `delay`.
  explicit retry_info(duration delay) noexcept : delay_(delay) {}
  /// Returns how long the client should wait before it retries.
  [[nodiscard]] duration delay() const noexcept { return delay_; }

  /// Returns the protobuf message in binary form.
  [[nodiscard]] std::string to_bytes() const;
  /// Parses to_bytes(); nothing if the bytes are malformed.
  static std::optional<retry_info> from_bytes(std::string_view bytes);

 private:
  duration delay_{};
};

/// google.rpc.BadRequest: the invalid fields of a request.
class bad_request {
 public:
  /// The full name of the protobuf message.
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

  /// Returns the protobuf message in binary form.
  [[nodiscard]] std::string to_bytes() const;
  /// Parses to_bytes(); nothing if the bytes are malformed.
  static std::optional<bad_request> from_bytes(std::string_view bytes);

 private:
  std::vector<std::pair<std::string, std::string>> violations_;
};

}  // namespace coracle
