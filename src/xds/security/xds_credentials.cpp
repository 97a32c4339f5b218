#include "coracle/xds/credentials.hpp"

#include "net/duplex.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace coracle {

namespace xds {

namespace {

class fallback_security final : public security::client_security {
 public:
  explicit fallback_security(channel_credentials fallback) noexcept : fallback_(std::move(fallback)) {}

  std::unique_ptr<net::duplex> secure(loop& on, std::unique_ptr<net::duplex> raw, std::string_view host,
                                      std::string_view application_protocol) override {
    if (!fallback_.secure()) return raw;
    return fallback_.security()->secure(on, std::move(raw), host, application_protocol);
  }
  status reload() override { return fallback_.secure() ? fallback_.security()->reload() : status(); }
  [[nodiscard]] std::string_view name_override() const noexcept override {
    return fallback_.secure() ? fallback_.security()->name_override() : std::string_view();
  }
  [[nodiscard]] bool always_private() const noexcept override { return security::always_private(fallback_); }
  [[nodiscard]] bool yields_to_control_plane() const noexcept override { return true; }
  security::certificates_in_use certificates(loop& on) override {
    return fallback_.secure() ? fallback_.security()->certificates(on) : security::certificates_in_use();
  }

 private:
  const channel_credentials fallback_;
};

class fallback_server_security final : public security::server_security {
 public:
  explicit fallback_server_security(server_credentials fallback) noexcept : fallback_(std::move(fallback)) {}

  std::unique_ptr<net::duplex> secure(loop& on, std::unique_ptr<net::duplex> raw) override {
    if (!fallback_.secure()) return raw;
    return fallback_.security()->secure(on, std::move(raw));
  }
  status reload() override { return fallback_.secure() ? fallback_.security()->reload() : status(); }
  [[nodiscard]] bool yields_to_control_plane() const noexcept override { return true; }
  security::certificates_in_use certificates(loop& on) override {
    return fallback_.secure() ? fallback_.security()->certificates(on) : security::certificates_in_use();
  }

 private:
  const server_credentials fallback_;
};

}  // namespace

}  // namespace xds

channel_credentials xds_credentials(channel_credentials fallback) {
  if (!fallback.failure().ok()) return fallback;
  return std::shared_ptr<security::client_security>(
      std::make_shared<xds::fallback_security>(std::move(fallback)));
}

server_credentials xds_server_credentials(server_credentials fallback) {
  if (!fallback.failure().ok()) return fallback;
  return std::shared_ptr<security::server_security>(
      std::make_shared<xds::fallback_server_security>(std::move(fallback)));
}

}  // namespace coracle
