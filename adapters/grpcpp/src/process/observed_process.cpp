#include "adapters/grpcpp/src/process/observed_process.hpp"

#include <mutex>
#include <utility>

namespace grpc::internal {

namespace {

struct observed_process {
  std::mutex lock;
  std::vector<std::shared_ptr<const call_observing>> all;
};

// Never destroyed: channels may be made until the process ends.
observed_process& observed() {
  static auto* const made = new observed_process;
  return *made;
}

}  // namespace

void observe_all(std::shared_ptr<const call_observing> by) {
  observed_process& here = observed();
  const std::lock_guard locked(here.lock);
  here.all.push_back(std::move(by));
}

std::vector<std::shared_ptr<const call_observing>> process_observers() {
  observed_process& here = observed();
  const std::lock_guard locked(here.lock);
  return here.all;
}

}  // namespace grpc::internal
