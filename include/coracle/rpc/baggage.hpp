// baggage: key-value pairs that travel with a call and with all calls made on its behalf (W3C Baggage).
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {

/// Key-value pairs such as a tenant, a priority or an experiment. A value type.
///
/// Every service that the call reaches can read them, so they must not hold secrets. On the wire they are the
/// metadata `baggage: tenant=acme,priority=high`. A value may be any text. The properties after a ';' are
/// kept.
class baggage {
 public:
  /// The maximum number of members. W3C Baggage 3.3.2 requires every party to propagate up to this many;
  /// set() and parse() reject more.
  static constexpr std::size_t members_max = 64;
  /// The maximum size of the header, from the same section. set() and parse() reject a larger one, and a
  /// larger one from a client is not propagated.
  static constexpr std::size_t bytes_max = 8192;

  /// No members.
  baggage() = default;
  /// Parses a header. Leaves out malformed members, and returns an empty baggage if the header exceeds the
  /// limits.
  static baggage parse(std::string_view header);

  /// Adds the member or replaces its value. Returns false, and changes nothing, if the key is not a token
  /// (RFC 9110 5.6.2) or the result would exceed the limits.
  bool set(std::string_view key, std::string_view value);
  /// Removes the member; does nothing if there is none with that key.
  void remove(std::string_view key);
  /// Returns the value, decoded and without properties; nothing if there is no such member.
  [[nodiscard]] std::optional<std::string> find(std::string_view key) const;
  /// Returns the number of members.
  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  /// Returns whether there are no members.
  [[nodiscard]] bool empty() const noexcept { return members_.empty(); }
  /// Returns the header value, for call_options::add_metadata("baggage", ...) in a call that no handler
  /// makes.
  [[nodiscard]] std::string header() const;

 private:
  struct member {
    std::string key;
    std::string encoded;  // value and properties, as on the wire
  };
  [[nodiscard]] std::vector<member>::iterator place_of(std::string_view key);
  [[nodiscard]] std::size_t bytes_without(std::string_view key) const noexcept;
  std::vector<member> members_;
};

}  // namespace coracle
