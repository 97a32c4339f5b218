// every_backend: the same test over io_uring, epoll and the simulated world.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "support/uring_faults.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

namespace coracle::testing_support {

enum class world_kind { io_uring, epoll, sim };

inline std::string name_of(world_kind k) {
  return k == world_kind::io_uring ? "io_uring" : k == world_kind::epoll ? "epoll" : "sim";
}
inline void PrintTo(world_kind k, std::ostream* out) { *out << name_of(k); }

// A runtime of one of the three kinds. Null, with the reason, if the machine has no such backend.
class any_world {
 public:
  // `memory`, if given, is the runtime's: see runtime_options::memory.
  explicit any_world(world_kind kind, std::size_t loops = 1, std::pmr::memory_resource* memory = nullptr) {
    if (kind == world_kind::sim) {
      sim_.emplace(1, memory ? sim::world_options{.memory = memory} : sim::world_options());
      runtime_ = &sim_->host("host", loops);
      return;
    }
    const auto asked = kind == world_kind::epoll ? backend_choice::epoll : backend_choice::io_uring;
    try {
      const runtime_options options{.loops = loops,
                                    .backend = or_what_is_left(asked),
                                    .dump_tasks_on = process_signal::user1,
                                    .memory = memory};
      real_ = std::make_unique<runtime>(options);
      runtime_ = real_.get();
    } catch (const status_error& e) {
      missing_ = e.what();
    }
  }
  [[nodiscard]] runtime* get() noexcept { return runtime_; }
  [[nodiscard]] const std::string& missing() const noexcept { return missing_; }
  // Only for the simulated kind.
  [[nodiscard]] sim::world* simulated() noexcept { return sim_ ? &*sim_ : nullptr; }

 private:
  std::optional<sim::world> sim_;
  std::unique_ptr<runtime> real_;
  runtime* runtime_ = nullptr;
  std::string missing_;
};

class every_backend : public ::testing::TestWithParam<world_kind> {
 public:
  static std::string case_name(const ::testing::TestParamInfo<world_kind>& info) {
    return name_of(info.param);
  }

 protected:
  explicit every_backend(std::size_t loops = 1) : world_(GetParam(), loops) {}
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  [[nodiscard]] sim::world* sim_world() noexcept { return world_.simulated(); }
  [[nodiscard]] runtime& rt() noexcept { return *world_.get(); }
  // Runs the task as a root on loop 0 and returns its value.
  template <class T>
  T run(task<T> t) {
    return sync_wait(rt(), rt().at(0), std::move(t));
  }

 private:
  any_world world_;
};

inline const auto all_kinds = ::testing::Values(world_kind::io_uring, world_kind::epoll, world_kind::sim);

inline const auto kernel_kinds = ::testing::Values(world_kind::io_uring, world_kind::epoll);

}  // namespace coracle::testing_support
