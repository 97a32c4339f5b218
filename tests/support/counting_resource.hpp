// counting_resource: a memory resource that keeps account of its allocations.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory_resource>

namespace coracle::testing_support {

class counting_resource final : public std::pmr::memory_resource {
 public:
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }        // blocks, ever
  [[nodiscard]] std::ptrdiff_t open_blocks() const noexcept { return open_blocks_; }
  [[nodiscard]] std::ptrdiff_t open_bytes() const noexcept { return open_bytes_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const p = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    ++taken_;
    ++open_blocks_;
    open_bytes_ += static_cast<std::ptrdiff_t>(bytes);
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    --open_blocks_;
    open_bytes_ -= static_cast<std::ptrdiff_t>(bytes);
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::atomic<std::size_t> taken_{0};
  std::atomic<std::ptrdiff_t> open_blocks_{0};
  std::atomic<std::ptrdiff_t> open_bytes_{0};
};

}  // namespace coracle::testing_support
