// call_facts: what rules of authorization know of a call (gRFC A41, "gRPC equivalent").
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/security/auth_context.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace coracle {
class server_context;
}

namespace coracle::server_internal {

// A view: what it refers to must outlive it.
struct call_facts {
  std::string_view path;  // "/package.Service/Method"
  std::string_view authority;
  std::string_view content_subtype;
  const metadata& headers;
  const net::address& peer;
  const net::address& local;
  const auth_context* auth = nullptr;  // null in plaintext

  [[nodiscard]] static call_facts of(const server_context& c) noexcept;

  // The value of a header, whose name is in lower case; several values are joined by ",". The text is in the
  // call, or in `joined` if it had to be made. ":method", ":path", ":authority", "host", which is the same,
  // and "content-type" are headers, too; headers of one hop are absent. Binary values are in base64.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name, std::string& joined) const;

  // The SPIFFE id of the client, which audit logs name; empty if it has proved none.
  [[nodiscard]] std::string_view spiffe_id() const noexcept;
};

}  // namespace coracle::server_internal
