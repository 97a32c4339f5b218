// baggage: pairs of text that travel with a call and all that are made on its behalf (W3C Baggage).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {

// A value; a tenant, a priority, an experiment. Whoever is called can read it: no secrets. On the wire it is the
// metadata `baggage: tenant=acme,priority=high`, where values may be any text and properties behind a ';' are kept.
class baggage {
 public:
  // W3C Baggage 3.3.2 has everybody carry this much; more is refused here, and not carried on from a client.
  static constexpr std::size_t members_max = 64;
  static constexpr std::size_t bytes_max = 8192;

  baggage() = default;
  // What a header says; malformed members are left out, and all of them when it is above the limits.
  static baggage parse(std::string_view header);

  // Adds or replaces. False, and nothing changes, when the key is no token (RFC 9110 5.6.2) or the whole would be above the
  // limits.
  bool set(std::string_view key, std::string_view value);
  void remove(std::string_view key);
  [[nodiscard]] std::optional<std::string> find(std::string_view key) const;
  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  [[nodiscard]] bool empty() const noexcept { return members_.empty(); }
  // For call_options::metadata("baggage", ...), where no handler stands behind a call.
  [[nodiscard]] std::string header() const;

 private:
  struct member {
    std::string key;
    std::string encoded;  // value and properties as they travel
  };
  [[nodiscard]] std::vector<member>::iterator place_of(std::string_view key);
  [[nodiscard]] std::size_t bytes_without(std::string_view key) const noexcept;
  std::vector<member> members_;
};

}  // namespace coracle
