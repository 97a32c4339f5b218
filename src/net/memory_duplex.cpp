#include "net/memory_duplex.hpp"

#include "base/if_memory_allows.hpp"
#include "base/output_buffer.hpp"
#include "coracle/base/impl/assert.hpp"
#include "net/checked_duplex.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>

namespace coracle::net {

namespace {

// The maximum size of one received() call, so that a pause takes effect soon.
constexpr std::size_t bytes_per_call_max = 16 * 1024;

class memory_end;

// The state that both ends share. With two executors every access holds the mutex; with one executor no lock
// is needed.
struct memory_link {
  // The bytes that one end has sent and the other has not taken.
  struct lane {
    base::output_buffer held;
    bool ended = false;    // no more bytes will come: shut down or closed
    bool aborted = false;  // the end was an abort
    bool waiting = false;  // the sender waits for room
  };
  struct side {
    memory_end* end = nullptr;
    coro::executor* owner_loop = nullptr;
    bool posted = false;  // end's work is in the owner loop's queue
    bool awake = false;   // started and not closed: the peer may post it
    bool closed = false;    // closed: takes no more bytes
  };
  // Indexed by the sending end, and by the end itself.
  lane lanes[2];
  side sides[2];
  std::size_t capacity = 0;
  bool crosses = false;
  std::mutex mutex;

  [[nodiscard]] std::unique_lock<std::mutex> hold() {
    return crosses ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
  }
  // Call under hold(). An end that is gone is never posted again, because it may be destroyed.
  void schedule_run(std::size_t index) noexcept;
};

class memory_end final : public checked_duplex, coro::runnable {
 public:
  memory_end(std::shared_ptr<memory_link> link, std::size_t index,
             std::shared_ptr<const auth_context> peer) noexcept
      : link_(std::move(link)), index_(index), auth_(std::move(peer)) {
    run = [](coro::runnable& w) noexcept { static_cast<memory_end&>(w).turn(); };
  }
  ~memory_end() override {
    check_destruction();
    if (!sink_) abandon_io(false);
  }

  void start(duplex_sink& sink) override {
    check_start();
    sink_ = &sink;
    const auto held = link_->hold();
    self().awake = true;
    link_->schedule_run(index_);
  }

  void pause_receive() noexcept override { paused_ = true; }
  void resume_receive() noexcept override {
    if (!std::exchange(paused_, false) || closing_) return;
    const auto held = link_->hold();
    link_->schedule_run(index_);
  }

  using checked_duplex::send;
  bool send(std::span<const piece> pieces) noexcept override {
    if (!begin_send()) return false;
    left_ = pieces;
    offset_ = 0;
    total_ = 0;
    const auto held = link_->hold();
    fill();
    if (outcome_) link_->schedule_run(index_);
    return true;
  }

  void shutdown_send() noexcept override {
    if (!begin_shutdown_send()) return;
    const auto held = link_->hold();
    if (!sending_ || outcome_) end_lane();
  }

  void close(bool abort) noexcept override {
    if (begin_close(abort)) abandon_io(abort);
  }

  [[nodiscard]] const address& peer_address() const noexcept override { return none_; }
  [[nodiscard]] const address& local_address() const noexcept override { return none_; }
  [[nodiscard]] const auth_context* auth() const noexcept override { return auth_.get(); }

 private:
  friend struct memory_link;
  memory_link::side& self() noexcept { return link_->sides[index_]; }
  memory_link::side& peer() noexcept { return link_->sides[1 - index_]; }
  memory_link::lane& out() noexcept { return link_->lanes[index_]; }
  memory_link::lane& in() noexcept { return link_->lanes[1 - index_]; }

  // Call end_lane(), complete_send() and fill() under hold().
  void end_lane() noexcept {
    out().ended = true;
    link_->schedule_run(1 - index_);
  }
  void complete_send(std::int64_t outcome) noexcept {
    outcome_ = outcome;
    out().waiting = false;
    if (shut_down_) end_lane();
  }
  // Moves what fits into the lane; settles the send when everything fitted or the peer is gone.
  void fill() noexcept {
    if (peer().closed) return complete_send(in().aborted ? -ECONNRESET : -EPIPE);
    const std::size_t room_before = link_->capacity - out().held.size();
    std::size_t room = room_before;
    while (!left_.empty() && room > 0) {
      const piece& p = left_.front();
      const std::size_t n = std::min(room, p.size - offset_);
      const bytes_view part(static_cast<const std::uint8_t*>(p.data) + offset_, n);
      if (!base::if_memory_allows([&] { out().held.append(part); })) return complete_send(-ENOMEM);
      offset_ += n;
      total_ += n;
      room -= n;
      if (offset_ == p.size) {
        left_ = left_.subspan(1);
        offset_ = 0;
      }
    }
    if (room != room_before) link_->schedule_run(1 - index_);
    if (left_.empty()) complete_send(static_cast<std::int64_t>(total_));
    else out().waiting = true;
  }

  void abandon_io(bool abort) noexcept {
    const auto held = link_->hold();
    link_->schedule_run(index_);  // the last schedule_run(), which leads to closed()
    self().awake = false;
    self().closed = true;
    out().aborted = abort;
    end_lane();
  }

  // Runs from the executor's queue and delivers everything pending to the sink.
  void turn() noexcept {
    {
      const auto held = link_->hold();
      self().posted = false;
      if (!closing_) {
        if (sending_ && !outcome_) fill();
        refill();
      }
    }
    if (closing_ && sending_ && !outcome_) outcome_ = -ECANCELED;
    const bool closing = closing_;
    if (outcome_) {
      const std::int64_t outcome = *std::exchange(outcome_, {});
      sending_ = false;
      sink_->sent(outcome);
    }
    if (closing) return report_closed();  // may destroy *this
    deliver();
  }

  // Call under hold().
  void refill() noexcept {
    if (paused_ || !taken_.empty() || in().held.empty()) return;
    taken_.swap(in().held);
    if (in().waiting) link_->schedule_run(1 - index_);
  }

  void deliver() noexcept {
    while (!taken_.empty() && !paused_ && !closing_) {
      const bytes_view part = taken_.pending().first(std::min(taken_.size(), bytes_per_call_max));
      sink_->received(part);
      taken_.consume(part.size());
    }
    if (paused_ || closing_ || end_reported_) return;
    std::int64_t end = 0;
    {
      const auto held = link_->hold();
      if (!in().held.empty()) return link_->schedule_run(index_);  // continue in another turn, for fairness
      if (!in().ended) return;
      end = in().aborted ? -ECONNRESET : 0;
    }
    end_reported_ = true;
    sink_->receive_ended(end);
  }

  const std::shared_ptr<memory_link> link_;
  const std::size_t index_;
  const std::shared_ptr<const auth_context> auth_;
  base::output_buffer taken_;  // taken out of the lane, not delivered to the sink yet
  std::span<const piece> left_;
  std::size_t offset_ = 0;  // into the first piece of left_
  std::size_t total_ = 0;
  std::optional<std::int64_t> outcome_;  // of the send; reported in the next turn
  bool end_reported_ = false;
  const address none_;
};

void memory_link::schedule_run(std::size_t index) noexcept {
  side& s = sides[index];
  if (!s.awake || s.posted) return;
  s.posted = true;
  s.owner_loop->post(*s.end);
}

}  // namespace

std::pair<std::unique_ptr<duplex>, std::unique_ptr<duplex>> make_memory_duplex_pair(
    coro::executor& first, coro::executor& second, const memory_pair_options& options) {
  CORACLE_ASSERT(options.buffer_bytes > 0, "a memory duplex needs a buffer of at least one byte");
  auto link = std::make_shared<memory_link>();
  link->capacity = options.buffer_bytes;
  link->crosses = &first != &second;
  auto a = std::make_unique<memory_end>(link, 0, nullptr);
  auto b = std::make_unique<memory_end>(link, 1, options.auth_of_first);
  link->sides[0].end = a.get();
  link->sides[0].owner_loop = &first;
  link->sides[1].end = b.get();
  link->sides[1].owner_loop = &second;
  return {std::move(a), std::move(b)};
}

}  // namespace coracle::net
