// Decides whether a message's header fields are well-formed (RFC 9113 8.2 and 8.3), field by field.
#pragma once

#include "http/field_rules.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::http {

enum class header_kind : std::uint8_t { request, response, trailers };

// What the validator must know about a field beyond its characters. It depends on the field alone, not
// on its message: an HPACK decoder may keep it beside a table entry and hand it to check_known() when the
// same entry is referred to again. `unknown` is 0, so that "nothing kept" means "not checked yet".
enum class field_class : std::uint8_t {
  unknown = 0,
  regular,
  te,              // allowed in requests only, where it must say "trailers" (RFC 9113 8.2.2)
  content_length,
  method,
  scheme,
  path,
  authority,
  status,
  special_method,  // CONNECT and OPTIONS, which other rules hold for
  asterisk_path,   // "*"
};
inline constexpr std::size_t field_class_count = 11;

// RFC 9113 8.2.1 forbids white space around values, and gRPC peers send it nevertheless: grpc-go
// writes a status message that ends with a space into grpc-message as it stands.
enum class edge_whitespace : std::uint8_t { reject, allow };

// The fields of one message go through check() or check_known() in order, then finish() says whether
// something is missing. The first error stands: the message is malformed (RFC 9113 8.1.1), and later
// calls repeat the error. No allocation; nothing is kept of the names and values.
// CONNECT follows RFC 9113 8.5; the extended CONNECT of RFC 8441 is not offered, so :protocol is an
// unknown pseudo-header. Whether Host contradicts :authority is left to the router, which has both.
class header_validator {
 public:
  explicit header_validator(header_kind kind, edge_whitespace edges = edge_whitespace::reject) noexcept
      : kind_(kind), edges_(edges) {}

  // Starts over for the next message.
  void reset(header_kind kind) noexcept { *this = header_validator(kind, edges_); }

  // All rules. `found`, when given, receives what check_known() wants the next time; it stays
  // field_class::unknown when the field by itself is in error.
  [[gnu::flatten]] field_error check(std::string_view name, std::string_view value,
                                     field_class* found = nullptr) noexcept;

  // The rules that depend on the message, for a field that passed check() before with this class.
  field_error check_known(field_class known, std::string_view value) noexcept {
    return error_ == field_error::none && accept(known) ? field_error::none : check_in_message(known, value);
  }
  // The same for a class of which the value says nothing more, in its usual place. Otherwise nothing has happened, and
  // check_known() decides. Only while there is no error.
  bool accept(field_class known) noexcept {
    const step s = usual_steps[static_cast<std::size_t>(kind_)][static_cast<std::size_t>(known)];
    if (s.sees == 0 || (seen_ & s.forbids) != 0) [[unlikely]]
      return false;
    seen_ |= s.sees;
    return true;
  }

  field_error finish() noexcept;

  [[nodiscard]] field_error error() const noexcept { return error_; }
  [[nodiscard]] header_kind kind() const noexcept { return kind_; }
  // :status once it was seen, else 0. 100 to 199 are interim responses.
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

  // What must not have been seen before a field of a class, and what is seen with it; 0 for those that take a closer
  // look.
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
