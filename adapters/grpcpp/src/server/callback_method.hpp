// callback_method: what the callbacks of one method of a server have in common.
#pragma once

#include "adapters/grpcpp/src/server/server_callbacks.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace grpc::internal {

// Names the method in the log, once, if a callback of it holds up its thread: other callbacks then hop to other
// threads, which costs more than the program may know. Any thread.
class callback_method {
 public:
  callback_method(const char* name, std::shared_ptr<server_callbacks> callbacks)
      : name_(name), callbacks_(std::move(callbacks)) {}

  [[nodiscard]] server_callbacks& callbacks() noexcept { return *callbacks_; }
  // Runs a callback of the method, here. It may destroy the call.
  template <class Function>
  void run(Function&& callback) {
    const watch watched(*this);
    callback();
  }

  // The thread is about to block in a function of this API.
  static void caller_blocks() noexcept;

 private:
  // From the start to the end of a callback, on its thread.
  class watch {
   public:
    explicit watch(callback_method& of) noexcept;
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;
    ~watch();

   private:
    callback_method& of_;
    callback_method* const outer_;
    const std::chrono::nanoseconds began_;
  };
  void log_once(const std::string& what) noexcept;

  const std::string name_;
  const std::shared_ptr<server_callbacks> callbacks_;
  std::atomic<bool> logged_{false};
};

}  // namespace grpc::internal
