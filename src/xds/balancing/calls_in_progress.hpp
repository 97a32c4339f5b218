// calls_in_progress: how many calls the process has open to a cluster (gRFC A32).
#pragma once

#include "client/balancing/subchannel.hpp"
#include "client/call/call_attempt.hpp"
#include "xds/load/cluster_load.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace coracle::xds {

// Shared by all loops and channels.
class calls_in_progress {
 public:
  // Returns that of a cluster by its name and that of its endpoints; it exists as long as a channel uses it.
  [[nodiscard]] static std::shared_ptr<calls_in_progress> of(const std::string& cluster,
                                                             const std::string& service);

  // Of no other one, also later. Not 0.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return n_.load(std::memory_order_relaxed); }
  void add(std::uint32_t n) noexcept { n_.fetch_add(n, std::memory_order_relaxed); }
  void subtract(std::uint32_t n) noexcept { n_.fetch_sub(n, std::memory_order_relaxed); }

 private:
  [[nodiscard]] static std::uint64_t next_number() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  const std::uint64_t number_ = next_number();
  std::atomic<std::uint32_t> n_{0};
};

// Counts the calls on one subchannel, on its loop. It outlives the policy, and so do the calls on it.
class calls_to_server final : public client::attempt_observer {
 public:
  // Null when it has been dropped: its calls are counted on.
  [[nodiscard]] client::subchannel* at() const noexcept { return at_; }
  void observe(client::subchannel& s) noexcept { at_ = &s; }
  // Counts them, and those that are open, there from now on.
  void count_in(std::shared_ptr<calls_in_progress> all) noexcept {
    if (all_) all_->subtract(here_);
    all_ = std::move(all);
    all_->add(here_);
  }
  // The same for the load of their locality; null: it is not reported.
  void count_at(std::shared_ptr<locality_load> load) noexcept {
    if (load_) load_->hand_over(here_);
    load_ = std::move(load);
    if (load_) load_->take_over(here_);
  }

  void began() noexcept override {
    ++here_;
    all_->add(1);
    if (load_) load_->began();
  }
  void ended(status_code code, const metadata& trailing) noexcept override {
    --here_;
    all_->subtract(1);
    if (load_) load_->ended(code, trailing);
  }
  void abandoned() noexcept override { ended(status_code::cancelled, {}); }
  void dropped() noexcept override { at_ = nullptr; }
  // A call that waits for a stream is in progress.
  [[nodiscard]] std::unique_ptr<client::held_place> place() override {
    return std::make_unique<place_in_progress>(all_);
  }

 private:
  class place_in_progress final : public client::held_place {
   public:
    explicit place_in_progress(std::shared_ptr<calls_in_progress> all) noexcept
        : held_place(all->number()), all_(std::move(all)) {
      all_->add(1);
    }
    ~place_in_progress() override { all_->subtract(1); }

   private:
    const std::shared_ptr<calls_in_progress> all_;
  };

  client::subchannel* at_ = nullptr;
  std::uint32_t here_ = 0;
  std::shared_ptr<calls_in_progress> all_;
  std::shared_ptr<locality_load> load_;
};

}  // namespace coracle::xds
