// idle_backend: a backend without a world, for a loop that a test turns by hand, and whose clock it sets.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/driven_loop.hpp"
#include "runtime/runtime_core.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

namespace coracle::test {

// Counts the requests of the loop.
class idle_backend final : public runtime_internal::backend {
 public:
  std::string_view name() const noexcept override { return "idle"; }
  void submit(runtime_internal::operation&) noexcept override {}
  void cancel(runtime_internal::operation&) noexcept override {}
  void start_accept(runtime_internal::handle, runtime_internal::accept_source&) noexcept override {}
  void stop_accept(runtime_internal::accept_source&) noexcept override {}
  void start_receive(runtime_internal::handle, runtime_internal::receive_source&) noexcept override {}
  void pause_receive(runtime_internal::receive_source&) noexcept override {}
  void resume_receive(runtime_internal::receive_source&) noexcept override {}
  void stop_receive(runtime_internal::receive_source&) noexcept override {}
  std::int64_t open_stream(int) noexcept override { return -1; }
  std::int64_t bind_stream(runtime_internal::handle, const runtime_internal::raw_address&) noexcept override {
    return -1;
  }
  std::int64_t open_listener(const runtime_internal::raw_address&,
                             const runtime_internal::listen_options&) noexcept override {
    return -1;
  }
  std::int64_t open_datagram(const runtime_internal::raw_address&,
                             const runtime_internal::listen_options&) noexcept override {
    return -1;
  }
  std::int64_t connect_datagram(runtime_internal::handle,
                                const runtime_internal::raw_address&) noexcept override {
    return -1;
  }
  std::int64_t local_address(runtime_internal::handle, runtime_internal::raw_address&) noexcept override {
    return -1;
  }
  std::int64_t peer_address(runtime_internal::handle, runtime_internal::raw_address&) noexcept override {
    return -1;
  }
  void shutdown_send(runtime_internal::handle) noexcept override {}
  void close(runtime_internal::handle, bool) noexcept override {}
  void turn(time_point until) noexcept override {
    waits.push_back(until);
    if (during_turn) during_turn();
    if (until != never) clock = std::max(clock, until);
  }
  void wake() noexcept override { ++wakes; }
  int pollable(time_point) noexcept override { return -1; }
  time_point now() noexcept override { return clock; }
  std::int64_t wall_ns() noexcept override { return 0; }
  std::uint64_t random() noexcept override { return 0; }
  const runtime_internal::counters& stats() const noexcept override { return counters; }

  std::vector<time_point> waits;
  std::function<void()> during_turn;
  std::atomic<int> wakes{0};
  time_point clock{std::chrono::seconds(1)};
  runtime_internal::counters counters;
};

class by_hand final : public runtime_internal::driver {
 public:
  void drive(bool (*done)(const void*) noexcept, const void* context) noexcept override {
    while (!done(context)) on->run_once(time_point::min());
  }
  duration offload_delay() noexcept override { return std::chrono::milliseconds(5); }
  runtime_internal::driven_loop* on = nullptr;
};

}  // namespace coracle::test
