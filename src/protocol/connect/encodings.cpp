#include "protocol/connect/encodings.hpp"

#include "protocol/web/accept.hpp"
#include "protocol/web/ascii.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace coracle::protocol::connect {

namespace {

std::optional<encoding> coding_named(std::string_view name) noexcept {
  std::array<char, 8> buffer;  // longer than every name
  if (name.size() > buffer.size()) return std::nullopt;
  for (std::size_t i = 0; i < name.size(); ++i) buffer[i] = web::lower(name[i]);
  const std::string_view lower(buffer.data(), name.size());
  return lower == "x-gzip" ? encoding::gzip : encoding_named(lower);
}

struct weighted {
  std::optional<encoding> coding;
  int weight = web::weight_max;
};

// Removes the first element of `list`.
weighted take_element(std::string_view& list) noexcept {
  const std::string_view element = web::take_list_element(list);
  const std::size_t semicolon = element.find(';');
  weighted out{coding_named(web::trim(element.substr(0, semicolon))), web::weight_max};
  if (semicolon != std::string_view::npos) {
    const std::string_view parameter = web::trim(element.substr(semicolon + 1));
    out.weight = web::starts_with_ignoring_case(parameter, "q=")
                     ? web::parse_weight(web::trim(parameter.substr(2)))
                     : 0;
  }
  return out;
}

}  // namespace

std::optional<encoding> content_encoding(std::string_view name, encoding_set accepted) noexcept {
  if (name.empty()) return encoding::identity;
  const auto e = coding_named(web::trim(name));
  return e && accepted.has(*e) ? e : std::nullopt;
}

encoding_set parse_accept_encoding(std::string_view list) noexcept {
  std::uint32_t bits = 0;
  while (!list.empty()) {
    const weighted w = take_element(list);
    if (w.coding && w.weight > 0) bits |= 1u << static_cast<unsigned>(*w.coding);
  }
  return encoding_set::from_bits(bits);
}

encoding preferred_encoding(std::string_view list, std::span<const encoding> offered) noexcept {
  std::array<int, encoding_count> weights{};
  while (!list.empty()) {
    const weighted w = take_element(list);
    if (w.coding) weights[static_cast<std::size_t>(*w.coding)] = w.weight;
  }
  encoding best = encoding::identity;
  int highest = weights[static_cast<std::size_t>(best)];
  // A list that does not name identity accepts it, with less than what it names (RFC 9110 12.5.3).
  for (const encoding one : offered) {
    if (!available(one)) continue;
    const int weight = weights[static_cast<std::size_t>(one)];
    const bool better = best == encoding::identity ? weight > 0 && weight >= highest : weight > highest;
    if (!better) continue;
    best = one;
    highest = weight;
  }
  return best;
}

}  // namespace coracle::protocol::connect
