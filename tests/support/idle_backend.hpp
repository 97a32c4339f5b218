// idle_backend: a backend without a world, for a loop that a test turns by hand, and whose clock it sets.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/driven_loop.hpp"
#include "runtime/driver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

namespace coracle::test {

// Counts what the loop asks of it.
class idle_backend final : public io::backend {
 public:
  std::string_view name() const noexcept override { return "idle"; }
  void submit(io::operation&) noexcept override {}
  void cancel(io::operation&) noexcept override {}
  void start_accept(io::handle, io::accept_source&) noexcept override {}
  void stop_accept(io::accept_source&) noexcept override {}
  void start_receive(io::handle, io::receive_source&) noexcept override {}
  void pause_receive(io::receive_source&) noexcept override {}
  void resume_receive(io::receive_source&) noexcept override {}
  void stop_receive(io::receive_source&) noexcept override {}
  std::int64_t open_stream(int) noexcept override { return -1; }
  std::int64_t open_listener(const io::raw_address&, const io::listen_options&) noexcept override {
    return -1;
  }
  std::int64_t open_datagram(const io::raw_address&, const io::listen_options&) noexcept override {
    return -1;
  }
  std::int64_t connect_datagram(io::handle, const io::raw_address&) noexcept override { return -1; }
  std::int64_t local_address(io::handle, io::raw_address&) noexcept override { return -1; }
  std::int64_t peer_address(io::handle, io::raw_address&) noexcept override { return -1; }
  void shutdown_send(io::handle) noexcept override {}
  void close(io::handle, bool) noexcept override {}
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
  const io::counters& counted() const noexcept override { return counters; }

  std::vector<time_point> waits;
  std::function<void()> during_turn;
  std::atomic<int> wakes{0};
  time_point clock{std::chrono::seconds(1)};
  io::counters counters;
};

class by_hand final : public io::driver {
 public:
  void drive(bool (*done)(const void*) noexcept, const void* context) noexcept override {
    while (!done(context)) on->turn_once(time_point::min());
  }
  duration offload_delay() noexcept override { return std::chrono::milliseconds(5); }
  io::driven_loop* on = nullptr;
};

}  // namespace coracle::test
