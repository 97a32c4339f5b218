// call_observers: count the calls of a server, and those of the channels to one target.
#pragma once

#include "coracle/client/client_observer.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/server/server_observer.hpp"
#include "telemetry/core.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::telemetry_internal {

// Finds the calls of a method by the address of its path, for one observer on one loop. The text is compared,
// too: a program may have reused the memory of a path.
class method_cache {
 public:
  [[nodiscard]] method_calls* find(std::string_view path) const noexcept {
    const entry& e = entries_[index_of(path)];
    return e.path.data() == path.data() && e.path == path ? e.calls : nullptr;
  }
  void keep(std::string_view path, method_calls* calls) noexcept { entries_[index_of(path)] = {path, calls}; }

 private:
  struct entry {
    std::string_view path;
    method_calls* calls = nullptr;
  };
  static std::size_t index_of(std::string_view path) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(path.data());
    return (address ^ (address >> 7)) % entries;
  }
  static constexpr std::size_t entries = 64;
  std::array<entry, entries> entries_;
};

// The calls of one server.
class server_calls final : public server_observer {
 public:
  explicit server_calls(std::shared_ptr<core> of);
  [[nodiscard]] server_observer& on_loop(const loop& where, std::uint32_t methods) override;

 private:
  class of_loop final : public server_observer {
   public:
    explicit of_loop(call_series& series) noexcept : series_(series) {}
    void expect(std::uint32_t methods) { methods_.resize(std::size_t{methods} + 1); }
    [[nodiscard]] bool wants_progress() const noexcept override { return false; }
    void call_started(served_call& c) noexcept override;
    void call_ended(served_call& c, const status& outcome, time_point now) noexcept override;

   private:
    [[gnu::noinline]] method_calls* find(const served_call& c) noexcept;
    call_series& series_;
    // By their index in the server; null before the first call. The last one, for unregistered methods, stays
    // null.
    std::vector<method_calls*> methods_;
  };
  std::shared_ptr<core> of_;
  std::vector<of_loop> loops_;
};

// The calls of the channels to one target.
class channel_calls final : public client_observer {
 public:
  channel_calls(std::shared_ptr<core> of, std::string target);
  void call_started(observed_call& c) noexcept override;
  void attempt_started(observed_attempt& a) noexcept override;
  void attempt_ended(observed_attempt& a, const status& outcome, time_point now) noexcept override;
  void call_ended(observed_call& c, const status& outcome, time_point now) noexcept override;

 private:
  std::shared_ptr<core> of_;
  const std::string target_;
  std::vector<method_cache> caches_;  // by loop; each entry is used only on its loop
};

}  // namespace coracle::telemetry_internal
