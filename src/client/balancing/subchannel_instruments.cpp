#include "client/balancing/subchannel_instruments.hpp"

#include "coracle/coro/measure.hpp"

#include <array>
#include <cerrno>
#include <cstddef>

namespace coracle::client {

namespace {

constexpr instrument of_subchannels(instrument_kind kind, std::string_view name, std::string_view unit,
                                    std::string_view description, label_keys optional) {
  return {.name = name,
          .description = description,
          .unit = unit,
          .kind = kind,
          .labels = {"grpc.target"},
          .optional_labels = optional,
          .bounds = {},
          .on_by_default = false};
}

using enum instrument_kind;

constexpr instrument disconnections = of_subchannels(
    counter, "grpc.subchannel.disconnections", "{disconnection}", "Established connections that were lost.",
    {"grpc.lb.backend_service", "grpc.lb.locality", "grpc.disconnect_error"});
constexpr instrument attempts_ok =
    of_subchannels(counter, "grpc.subchannel.connection_attempts_succeeded", "{attempt}",
                   "Attempts to connect that succeeded.", {"grpc.lb.backend_service", "grpc.lb.locality"});
constexpr instrument attempts_lost =
    of_subchannels(counter, "grpc.subchannel.connection_attempts_failed", "{attempt}",
                   "Attempts to connect that failed.", {"grpc.lb.backend_service", "grpc.lb.locality"});
constexpr instrument open =
    of_subchannels(up_down_counter, "grpc.subchannel.open_connections", "{connection}",
                   "Connections that are established now.",
                   {"grpc.lb.backend_service", "grpc.lb.locality", "grpc.security_level"});
// The names before gRFC A94.
constexpr instrument old_disconnections =
    of_subchannels(counter, "grpc.lb.pick_first.disconnections", "{disconnection}",
                   "The older name of grpc.subchannel.disconnections.", {});
constexpr instrument old_succeeded =
    of_subchannels(counter, "grpc.lb.pick_first.connection_attempts_succeeded", "{attempt}",
                   "The older name of grpc.subchannel.connection_attempts_succeeded.", {});
constexpr instrument old_failed =
    of_subchannels(counter, "grpc.lb.pick_first.connection_attempts_failed", "{attempt}",
                   "The older name of grpc.subchannel.connection_attempts_failed.", {});

constexpr instrument handshakes{
    .name = "grpc.client.tls.handshakes",
    .description = "TLS handshakes of clients that have ended.",
    .unit = "{handshake}",
    .kind = counter,
    .labels = {"grpc.tls.handshake.result", "grpc.target"},
    .optional_labels = {"grpc.tls.handshake.resumed", "grpc.lb.locality", "grpc.lb.backend_service"},
    .bounds = {},
    .on_by_default = false};

constexpr std::array all_of_subchannels{&disconnections,     &attempts_ok,   &attempts_lost, &open,
                                        &old_disconnections, &old_succeeded, &old_failed,    &handshakes};

// The value of grpc.disconnect_error.
std::string_view error_of(const transport::connection& c, std::array<char, 48>& text) noexcept {
  switch (c.end_cause()) {
    case transport::end_cause::closed: return "subchannel shutdown";
    case transport::end_cause::unanswered: return "connection timed out";
    case transport::end_cause::goaway: {
      constexpr std::string_view prefix = "GOAWAY ";
      const std::string_view code = name_of(static_cast<transport::error_code>(c.end_value()));
      const std::size_t more =
          code.copy(text.data() + prefix.copy(text.data(), prefix.size()), text.size() - prefix.size());
      return {text.data(), prefix.size() + more};
    }
    case transport::end_cause::io_error: break;
    case transport::end_cause::unknown: return "unknown";
  }
  switch (c.end_value()) {
    case ECONNRESET: return "connection reset";
    case ETIMEDOUT: return "connection timed out";
    case ECONNABORTED: return "connection aborted";
    default: return "socket error";
  }
}

std::string_view level_of(bool secure) noexcept { return secure ? "privacy_and_integrity" : "none"; }

}  // namespace

std::span<const instrument* const> subchannel_instruments() noexcept { return all_of_subchannels; }

void subchannel_measures::attempt_succeeded() const noexcept {
  measure(attempts_ok, 1, {target_, service(), locality()});
  measure(old_succeeded, 1, {target_});
}

void subchannel_measures::attempt_failed() const noexcept {
  measure(attempts_lost, 1, {target_, service(), locality()});
  measure(old_failed, 1, {target_});
}

void subchannel_measures::handshake_ended(const transport::connection& c) const noexcept {
  const net::handshake_end end = c.handshake();
  if (end.result.empty()) return;
  measure(handshakes, 1,
          {end.result, target_, end.resumed ? "RESUMED_HANDSHAKE" : "FULL_HANDSHAKE", locality(), service()});
}

void subchannel_measures::opened(const transport::connection& c) const noexcept {
  measure(open, 1, {target_, service(), locality(), level_of(c.auth() != nullptr)});
}

void subchannel_measures::closed(const transport::connection& c, bool secure) const noexcept {
  std::array<char, 48> text{};
  measure(disconnections, 1, {target_, service(), locality(), error_of(c, text)});
  measure(old_disconnections, 1, {target_});
  measure(open, -1, {target_, service(), locality(), level_of(secure)});
}

}  // namespace coracle::client
