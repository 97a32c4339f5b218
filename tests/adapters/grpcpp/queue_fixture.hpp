// queue_fixture: a call_kinds_fixture whose server has completion queues.
#pragma once

#include "call_kinds_fixture.hpp"
#include "queue_cases.hpp"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <vector>

namespace coracle::testing_support {

template <class Service>
class queue_fixture : public call_kinds_fixture<Service> {
 protected:
  ~queue_fixture() override { this->server.reset(); }  // before its queues
  using preparation = typename call_kinds_fixture<Service>::preparation;
  void start(int count = 1) {
    start([](grpc::ServerBuilder&) {}, count);
  }
  void start(const preparation& prepare, int count = 1) {
    call_kinds_fixture<Service>::start([&](grpc::ServerBuilder& builder) {
      prepare(builder);
      for (int i = 0; i < count; ++i) queues.push_back(builder.AddCompletionQueue());
    });
  }
  grpc::ServerCompletionQueue& queue() { return *queues.front(); }
  // Shuts all down, and takes the events that are left.
  void end() {
    this->server->Shutdown(std::chrono::system_clock::now());
    for (auto& q : queues) q->Shutdown();
    for (auto& q : queues)
      while (call_kinds::taken(*q) != "drained") continue;
  }

  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
};

}  // namespace coracle::testing_support
