// session: the server of a case, and the other options of its command line.
#pragma once

#include <coracle/client.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace interop {

// The extent of a soak; the defaults are those of the description.
struct soak_plan {
  int iterations = 10;
  int failures_max = 0;
  std::chrono::milliseconds latency_max{1000};
  std::chrono::milliseconds pause_min{0};
  std::chrono::seconds overall_max{10};
  std::int32_t request_bytes = 271828;
  std::int32_t response_bytes = 314159;
  int threads = 1;
};

class session {
 public:
  session(coracle::runtime& on, std::string target, coracle::channel_credentials credentials,
          const soak_plan& soak)
      : runtime_(on),
        target_(std::move(target)),
        credentials_(std::move(credentials)),
        soak_(soak),
        channel_(make_channel()) {}

  // The channel of most cases.
  [[nodiscard]] const coracle::channel& channel() const noexcept { return channel_; }
  // Another channel to the same server.
  [[nodiscard]] coracle::channel make_channel(const coracle::channel_options& options = {}) const {
    return coracle::channel(runtime_, target_, credentials_, options);
  }
  [[nodiscard]] coracle::runtime& runtime() const noexcept { return runtime_; }
  [[nodiscard]] const soak_plan& soak() const noexcept { return soak_; }

 private:
  coracle::runtime& runtime_;
  std::string target_;
  coracle::channel_credentials credentials_;
  soak_plan soak_;
  coracle::channel channel_;
};

}  // namespace interop
