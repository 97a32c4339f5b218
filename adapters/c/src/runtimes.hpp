// shared_runtime: a runtime that handles, calls and queues share, and that ends at one moment for all of them.
#pragma once

#include "coracle/runtime/runtime.hpp"

#include "handles.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace coracle::c_abi {

class shared_runtime {
 public:
  static constexpr handle_kind kind_of_handle = handle_kind::runtime;
  explicit shared_runtime(const runtime_options& options);

  // Keeps the runtime from ending while a function of the interface uses it.
  class use {
   public:
    explicit use(shared_runtime& of);
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() { of_.leave(); }
    [[nodiscard]] runtime& get() const noexcept { return *of_.runtime_; }

   private:
    shared_runtime& of_;
  };
  // Ends the runtime, unless it has ended; on a plain thread.
  void end() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  void leave() noexcept;
  std::optional<runtime> runtime_;
  std::size_t size_ = 0;
  std::atomic<std::uint32_t> users_{1};  // one more than there are, until end()
  std::atomic<bool> ending_{false};
};

// The runtime of a handle; of 0, the default one, which is made if need be.
[[nodiscard]] std::shared_ptr<shared_runtime> runtime_of(coracle_runtime handle);
// Ends the runtimes when the process exits, before what was initialised earlier is destroyed.
void end_at_exit();

}  // namespace coracle::c_abi
