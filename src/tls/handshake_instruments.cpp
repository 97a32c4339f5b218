#include "tls/handshake_instruments.hpp"

#include "coracle/coro/measure.hpp"

#include <array>

namespace coracle::tls {

namespace {

constexpr instrument handshakes{.name = "grpc.server.tls.handshakes",
                                .description = "TLS handshakes of servers that have ended.",
                                .unit = "{handshake}",
                                .kind = instrument_kind::counter,
                                .labels = {"grpc.tls.handshake.result"},
                                .optional_labels = {"grpc.tls.handshake.resumed"},
                                .bounds = {},
                                .on_by_default = false};

constexpr std::array all_of_handshakes{&handshakes};

}  // namespace

std::span<const instrument* const> handshake_instruments() noexcept { return all_of_handshakes; }

void measure_server_handshake(const net::handshake_end& end) noexcept {
  measure(handshakes, 1, {end.result, end.resumed ? "RESUMED_HANDSHAKE" : "FULL_HANDSHAKE"});
}

}  // namespace coracle::tls
