#include "adapters/grpcpp/src/values/sent_metadata.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace grpc::internal {

namespace {

template <std::size_t N>
bool has(const std::array<std::string_view, N>& all, std::string_view key) noexcept {
  return std::find(all.begin(), all.end(), key) != all.end();
}

// RFC 9113 8.2.2: a message with a connection-specific field is malformed. Of the others, each call has its own,
// and a second one would contradict it.
bool is_dropped(std::string_view key, sent_with with) noexcept {
  static constexpr std::array<std::string_view, 14> always{"te",
                                                           "content-type",
                                                           "content-length",
                                                           "connection",
                                                           "keep-alive",
                                                           "upgrade",
                                                           "proxy-connection",
                                                           "transfer-encoding",
                                                           "grpc-status",
                                                           "grpc-message",
                                                           "grpc-timeout",
                                                           "grpc-encoding",
                                                           "grpc-accept-encoding",
                                                           "grpc-internal-encoding-request"};
  // RFC 9113 8.3.1: a client sends no host that differs from :authority.
  static constexpr std::array<std::string_view, 3> of_requests{"host", "user-agent",
                                                               "grpc-previous-rpc-attempts"};
  return has(always, key) || (with == sent_with::request && has(of_requests, key));
}

}  // namespace

bool add_pair(coracle::metadata& to, std::string_view key, std::string_view value, sent_with with) {
  if (to.add(key, value)) return true;
  if (is_dropped(key, with)) return true;
  if (key.empty()) return false;
  // The same characters under a key that is not reserved.
  const std::string free_key = "x-" + std::string(key);
  coracle::metadata checked;
  if (!checked.add(free_key, value)) return false;
  to.add_received(key, *checked.find(free_key));
  return true;
}

bool is_hidden(std::string_view key) noexcept {
  static constexpr std::array<std::string_view, 7> all{
      "grpc-trace-bin", "grpc-tags-bin", "grpc-server-stats-bin",    "grpc-internal-encoding-request",
      "grpc-status",    "grpc-message",  "endpoint-load-metrics-bin"};
  return has(all, key);
}

}  // namespace grpc::internal
