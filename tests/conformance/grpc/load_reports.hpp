// The load that clients of the interop server set, as it reports it to them (gRFC A51).
#pragma once

#include "grpc/testing/messages.pb.h"

#include <coracle/coro/mutex.hpp>
#include <coracle/server.hpp>
#include <coracle/server/load_reporter.hpp>
#include <coracle/services/orca_service.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace interop {

// Adds what the client wants to be told to `to`.
void add(coracle::load_report& to, const grpc::testing::TestOrcaReport& wanted);

// For a server of one loop. One call at a time sets the load that is reported out of band: see load_claim.
class load_reports {
 public:
  [[nodiscard]] coracle::mutex& turn() noexcept { return turn_; }
  [[nodiscard]] coracle::orca_service& service() noexcept { return service_; }

 private:
  friend class load_claim;
  coracle::mutex turn_;
  std::shared_ptr<coracle::load_reporter> load_ = std::make_shared<coracle::load_reporter>();
  coracle::orca_service service_{load_, std::chrono::milliseconds(10)};
};

// Held by the call whose turn it is. Its end removes the load.
class load_claim {
 public:
  load_claim(load_reports& at, coracle::mutex::guard turn) noexcept : at_(at), turn_(std::move(turn)) {}
  load_claim(const load_claim&) = delete;
  load_claim& operator=(const load_claim&) = delete;
  ~load_claim() {
    at_.load_->update([](coracle::load_report& r) { r.clear(); });
  }
  void tell(const grpc::testing::TestOrcaReport& wanted) {
    at_.load_->update([&](coracle::load_report& r) {
      r.clear();
      add(r, wanted);
    });
  }

 private:
  load_reports& at_;
  coracle::mutex::guard turn_;
};

}  // namespace interop
