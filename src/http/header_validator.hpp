// header_validator: checks that a message's header fields are well-formed (RFC 9113 8.2 and 8.3), field by
// field.
#pragma once

#include "http/field_rules.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::http {

enum class header_kind : std::uint8_t { request, response, trailers };

// What the validator must know about a field beyond its characters. It depends only on the field, not on its
// message: an HPACK decoder may store it with a table entry and pass it to check_known() when the same entry
// is used again. `unknown` is 0, so that "nothing stored" means "not checked yet".
enum class field_class : std::uint8_t {
  unknown = 0,
  regular,
  te,              // allowed in requests only, with the value "trailers" (RFC 9113 8.2.2)
  content_length,
  method,
  scheme,
  path,
  authority,
  status,
  special_method,  // CONNECT and OPTIONS, which have other rules
  asterisk_path,   // "*"
};
inline constexpr std::size_t field_class_count = 11;

// RFC 9113 8.2.1 forbids white space around values, but gRPC peers send it: grpc-go copies a status message
// that ends with a space into grpc-message unchanged.
enum class edge_whitespace : std::uint8_t { reject, allow };

// Pass the fields of one message to check() or check_known() in order, then call finish(), which reports
// whether something is missing. The first error makes the message malformed (RFC 9113 8.1.1), and later calls
// return it again. Does not allocate and keeps no names or values.
//
// CONNECT follows RFC 9113 8.5. The extended CONNECT of RFC 8441 is not supported, so :protocol is an unknown
// pseudo-header. A host beside :authority is ignored by the reader of requests.
class header_validator {
 public:
  explicit header_validator(header_kind kind, edge_whitespace edges = edge_whitespace::reject) noexcept
      : kind_(kind), edges_(edges) {}

  // Starts the next message.
  void reset(header_kind kind) noexcept { *this = header_validator(kind, edges_); }

  // Applies all rules to a field. `found`, if given, receives the class to pass to check_known() the next
  // time; it is field_class::unknown if the field by itself is in error.
  [[gnu::flatten]] field_error check(std::string_view name, std::string_view value,
                                     field_class* found = nullptr) noexcept;

  // Applies the rules that depend on the message to a field that passed check() before with this class.
  field_error check_known(field_class known, std::string_view value) noexcept {
    return error_ == field_error::none && accept(known) ? field_error::none : check_in_message(known, value);
  }
  // Fast path of check_known() for a class whose value does not matter, in its usual position. If it returns
  // false, nothing has changed and check_known() decides. Call it only while there is no error.
  bool accept(field_class known) noexcept {
    const step s = usual_steps[static_cast<std::size_t>(kind_)][static_cast<std::size_t>(known)];
    if (s.sees == 0 || (seen_ & s.forbids) != 0) [[unlikely]]
      return false;
    seen_ |= s.sees;
    return true;
  }

  // Whether the value of a regular field with this name has no rules but those of all values.
  [[nodiscard]] static bool has_free_value(std::string_view name) noexcept;
  // Applies these rules to another value of a field that passed check() before in the same message.
  field_error check_value(std::string_view value) noexcept;

  field_error finish() noexcept;

  [[nodiscard]] field_error error() const noexcept { return error_; }
  [[nodiscard]] header_kind kind() const noexcept { return kind_; }
  // Returns :status once it was seen, else 0. 100 to 199 are interim responses.
  [[nodiscard]] int status() const noexcept { return status_; }
  // Absent in trailers, where the field has no meaning (RFC 9110 6.5.1).
  [[nodiscard]] std::optional<std::uint64_t> content_length() const noexcept {
    if (kind_ == header_kind::trailers || (seen_ & seen_content_length) == 0) return std::nullopt;
    return content_length_;
  }

 private:
  enum class method : std::uint8_t { other, connect, options };
  enum class path_form : std::uint8_t { absolute, asterisk };

  field_error check_in_message(field_class known, std::string_view value) noexcept;
  field_error check_pseudo(field_class known, std::string_view value) noexcept;
  field_error finish_request() noexcept;
  field_error fail(field_error error) noexcept {
    error_ = error;
    return error;
  }

  static constexpr std::uint8_t seen_regular = 1;
  static constexpr std::uint8_t seen_content_length = 2;
  static constexpr std::uint8_t seen_method = 4;
  static constexpr std::uint8_t seen_scheme = 8;
  static constexpr std::uint8_t seen_path = 16;
  static constexpr std::uint8_t seen_authority = 32;
  static constexpr std::uint8_t seen_status = 64;

  // What must not have been seen before a field of a class, and what is marked as seen with it; 0 for classes
  // that need check_in_message().
  struct step {
    std::uint8_t forbids = 0;
    std::uint8_t sees = 0;
  };
  static const std::array<std::array<step, field_class_count>, 3> usual_steps;

  header_kind kind_;
  edge_whitespace edges_;
  field_error error_ = field_error::none;
  method method_ = method::other;
  path_form path_ = path_form::absolute;
  std::uint8_t seen_ = 0;
  std::int16_t status_ = 0;
  std::uint64_t content_length_ = 0;
};

}  // namespace coracle::http
