// foreign_loop: what the example needs of an event loop that knows nothing of gRPC, whichever library it is from.
#pragma once

#include <coracle/runtime/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <functional>

// All of it is for one thread, and also for functions that the loop calls.
class foreign_loop {
 public:
  foreign_loop() = default;
  foreign_loop(const foreign_loop&) = delete;
  foreign_loop& operator=(const foreign_loop&) = delete;
  virtual ~foreign_loop() = default;

  // Drives loop 0 of the runtime inside run(), until release(), which the runtime must outlive.
  virtual void drive(coracle::runtime& guest) = 0;
  // Not inside a task of a runtime that it releases.
  virtual void release() = 0;

  // A timer of this loop: calls `due` once.
  virtual void after(std::chrono::milliseconds delay, std::function<void()> due) = 0;
  // Calls `readable` whenever the descriptor is.
  virtual void watch(int descriptor, std::function<void()> readable) = 0;
  // Returns after stop(). Rethrows what left a root task of a runtime.
  virtual void run() = 0;
  virtual void stop() = 0;
  // How often this loop has woken up so far, for whatever reason.
  [[nodiscard]] virtual std::uint64_t wakeups() const noexcept = 0;
};
