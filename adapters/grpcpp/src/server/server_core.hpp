// server_core: what a Server is made of.
#pragma once

#include <grpcpp/server_builder.h>

#include "adapters/grpcpp/src/server/hosted_generic.hpp"
#include "adapters/grpcpp/src/server/hosted_service.hpp"
#include "adapters/grpcpp/src/server/method_starters.hpp"
#include "adapters/grpcpp/src/server/requested_calls.hpp"
#include "adapters/grpcpp/src/threads/queue_driver.hpp"

#include "coracle/runtime/runtime.hpp"
#include "coracle/server/server.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace grpc::internal {

// For servers that are built from now on; null if the program has set none.
extern std::atomic<Server::GlobalCallbacks*> global_callbacks;

// A runtime, what drives its loops, the threads of handlers and callbacks, and a server of Coracle; they end in the
// reverse order.
class server_core {
 public:
  server_core(const ServerBuilder& from, const ChannelArguments& arguments);
  ~server_core();

  // Adds what the builder has. Throws std::invalid_argument.
  void add(const ServerBuilder& from, const ChannelArguments& arguments);
  // Listens and starts. False: an address cannot be listened on.
  [[nodiscard]] bool start(const ServerBuilder& from, Server& of);
  void shut_down(coracle::duration grace);
  void wait();

  // Of a loop; null if threads of the runtime drive it.
  [[nodiscard]] const queue_driver* driver(std::size_t loop = 0) const noexcept {
    return drivers_.empty() ? nullptr : drivers_[loop].get();
  }
  // The server, to which more can be added before start().
  [[nodiscard]] coracle::server& server() noexcept { return server_; }
  // Registers a service, before start(). False: the server has started.
  bool add(const Service& service, std::shared_ptr<Service> keep = {});
  [[nodiscard]] const std::vector<std::string>& service_names() const noexcept { return names_; }
  // May be null.
  [[nodiscard]] HealthCheckServiceInterface* health() const noexcept { return health_.get(); }

 private:
  // The threads that drive the loops: those of the program in Next(), the leaders of callbacks, or the runtime's.
  enum class driven { by_queues, by_leaders, by_runtime };
  static bool may_be_driven_by_queues(const ServerBuilder& from);
  static bool has_callbacks(const ServerBuilder& from);
  static driven driven_by(const ServerBuilder& from, const ChannelArguments& arguments);
  static coracle::runtime_options runtime_options_of(driven by, const ServerBuilder& from);
  // One for each loop that the runtime does not drive, from before the server is made until after its end, which
  // waits for what is on the loops. Queues may keep them longer.
  class loop_drivers : public std::vector<std::shared_ptr<queue_driver>> {
   public:
    loop_drivers(std::size_t loops, coracle::runtime& of);
    loop_drivers(const loop_drivers&) = delete;
    loop_drivers& operator=(const loop_drivers&) = delete;
    ~loop_drivers();
  };
  enum class phase { serving, draining, ended };
  // By the API that the program uses for the method.
  [[nodiscard]] std::shared_ptr<call_starter> starter_of(RpcServiceMethod& method);
  // Null: there is no generic service.
  [[nodiscard]] std::shared_ptr<call_starter> generic_starter(const ServerBuilder& from);

  driven driven_;
  const bool callbacks_on_threads_;
  const bool records_load_;
  coracle::runtime runtime_;
  loop_drivers drivers_;
  method_starters starters_;
  std::vector<std::shared_ptr<requested_calls>> requested_;
  std::vector<std::shared_ptr<Service>> kept_;
  std::vector<std::string> names_;
  std::shared_ptr<HealthCheckServiceInterface> health_;
  bool started_ = false;
  std::unique_ptr<hosted_generic> generic_;
  coracle::server server_;
  std::mutex changing_;
  std::condition_variable changed_;
  phase phase_ = phase::serving;
};

}  // namespace grpc::internal
