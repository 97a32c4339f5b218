#include "server/authorization/call_facts.hpp"

#include "coracle/base/impl/base64.hpp"
#include "coracle/server/server_context.hpp"

#include <cstddef>

namespace coracle::server_internal {

call_facts call_facts::of(const server_context& c) noexcept {
  return {c.method(), c.authority(), c.content_subtype(), c.metadata(), c.peer(), c.local(), c.auth()};
}

namespace {

std::optional<std::string_view> joined_values(const metadata& of, std::string_view name,
                                              std::string& joined) {
  const bool binary = name.ends_with("-bin");
  std::size_t found = 0;
  std::string_view first;
  for (const auto& [key, value] : of) {
    if (key != name) continue;
    if (++found == 1 && !binary) {
      first = value;
      continue;
    }
    if (found == 2 && !binary) joined = first;
    if (found > 1) joined += ',';
    if (binary) base::base64_encode(value, joined);
    else joined += value;
  }
  if (found == 0) return std::nullopt;
  return found == 1 && !binary ? first : std::string_view(joined);
}

}  // namespace

std::optional<std::string_view> call_facts::header(std::string_view name, std::string& joined) const {
  joined.clear();
  // Metadata has no other header of one hop (RFC 9113 8.2.2).
  if (name == "te") return std::nullopt;
  if (name == ":path") return path;
  if (name == ":method") return "POST";
  if (name == ":authority" || name == "host") return authority;
  if (name == "content-type") {
    joined = "application/grpc";
    if (!content_subtype.empty()) joined.append("+").append(content_subtype);
    return joined;
  }
  return joined_values(headers, name, joined);
}

std::string_view call_facts::spiffe_id() const noexcept {
  if (!auth) return {};
  std::string_view id;
  for (const peer_identity& name : auth->identities()) {
    if (name.type() != peer_identity::kind::uri) continue;
    if (!id.empty()) return {};  // a certificate has one (SPIFFE X.509-SVID 2)
    id = name.value();
  }
  return id.starts_with("spiffe://") ? id : std::string_view();
}

}  // namespace coracle::server_internal
