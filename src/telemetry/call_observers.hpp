// call_observers: count and trace the calls of a server, and those of the channels to one target.
#pragma once

#include "coracle/client/client_observer.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/server/server_observer.hpp"
#include "telemetry/core.hpp"
#include "telemetry/traces/call_spans.hpp"

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

struct traced_served_call;

// The calls of one server. One observer does metrics and traces, so that an event of a call costs one virtual
// call.
class server_calls final : public server_observer {
 public:
  server_calls(std::shared_ptr<core> of, const server* which);
  ~server_calls() override;
  [[nodiscard]] server_observer& on_loop(const loop& where, std::uint32_t methods) override;

 private:
  class of_loop final : public server_observer {
   public:
    // traces: where the tracer of the loop is, if it has one.
    of_loop(call_series& series, tracer* const* traces) noexcept : series_(series), traces_(traces) {}
    void expect(std::uint32_t methods) { methods_.resize(std::size_t{methods} + 1); }
    // Only that of calls that have a span: served_call::wants_progress.
    [[nodiscard]] bool wants_progress() const noexcept override { return false; }
    void call_started(served_call& c) noexcept override;
    void message_received(served_call& c, message_size m) noexcept override;
    void message_sent(served_call& c, message_size m) noexcept override;
    void call_ended(served_call& c, const status& outcome, time_point now) noexcept override;

   private:
    // The first call of a method, and calls of unregistered methods.
    [[gnu::noinline]] void start_unknown(served_call& c) noexcept;
    [[gnu::noinline]] method_calls* find(const served_call& c) noexcept;
    // Calls that may be sampled, or recorded at their end.
    [[gnu::noinline]] void trace(served_call& c) noexcept;
    // Calls that are measured, have a span, or may get one now, or are not counted.
    [[gnu::noinline]] void end_checked(served_call& c, const status& outcome, time_point now) noexcept;
    void end_traced(traced_served_call& t, const status& outcome, const call_sizes& sizes) noexcept;

    call_series& series_;
    tracer* const* traces_;
    // By their index in the server; null before the first call. The last one, for unregistered methods, stays
    // null.
    std::vector<method_calls*> methods_;
  };
  std::shared_ptr<core> of_;
  const server* const which_;  // to compare only
  std::vector<of_loop> loops_;
};

// The calls of the channels to one target.
class channel_calls final : public client_observer {
 public:
  channel_calls(std::shared_ptr<core> of, std::string target);
  void call_started(observed_call& c) noexcept override;
  void call_resolved(observed_call& c) noexcept override;
  void attempt_started(observed_attempt& a) noexcept override;
  void attempt_attached(observed_attempt& a) noexcept override;
  void message_sent(observed_attempt& a, message_size m) noexcept override;
  void message_received(observed_attempt& a, message_size m) noexcept override;
  void attempt_ended(observed_attempt& a, const status& outcome, time_point now) noexcept override;
  void call_ended(observed_call& c, const status& outcome, time_point now) noexcept override;

 private:
  // The calls of the method on the server of the attempt, if they are told apart.
  [[gnu::noinline]] method_calls* on_server(const server_labels& labels, method_calls* calls) const noexcept;

  std::shared_ptr<core> of_;
  const std::string target_;
  const server_name server_;
  std::vector<method_cache> caches_;  // by loop; each entry is used only on its loop
};

}  // namespace coracle::telemetry_internal
