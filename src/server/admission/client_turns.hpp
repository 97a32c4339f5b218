// client_turns: the calls of one criticality that wait, whose clients take turns.
#pragma once

#include "server/admission/limited_call.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coracle::server_internal {

// The calls of one client, or of several that share a queue.
struct client_queue {
  std::uint64_t client = 0;
  call_list<&limited_call::of_client> calls;
  double credit = 0;  // in usual calls; what it has in its turn, or owes
  double left_at = 0;  // the rounds that there had been when its last call left
  std::uint64_t last_turn = 0;  // the number of its last turn, or of the one before it came first
  bool has_had_turn = false;
  client_queue* next = nullptr;  // in a ring of those with calls
  client_queue* previous = nullptr;
};

// Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) by what calls cost: the time for which calls of
// their method usually hold a place. In each round, a client runs calls that cost as much as one usual call,
// so that a client that asks for more than its share takes nothing from the others, whether it sends more
// calls or dearer ones. A call is charged when it leaves, and may cost more than its client has: it skips
// turns then. To wait for the credit before would keep a dear call from ever running within the patience of
// the line.
//
// A client that has no call for a while owes what it has not paid, a turn less with each round of the others,
// and nothing once no call waits any more. When it has one again, its turn comes before those of clients that
// have had theirs later. Behind all others, it would wait for a round: where many clients ask for too much,
// that is longer than a call waits, and it would lose its calls however few they are.
class client_turns {
 public:
  // Further clients share the queues of these. More of them in one line get at most a call each within the
  // time that a call waits, so that it makes no difference.
  static constexpr std::size_t clients_max = 128;
  // A call counts as at most this many usual calls, and as at least the inverse: the most turns that a client
  // skips after a call, and the most calls that it runs in one.
  static constexpr double cost_max = 8;

  explicit client_turns(std::size_t calls_max);

  [[nodiscard]] bool empty() const noexcept { return calls_.size == 0; }
  // Of all clients.
  [[nodiscard]] limited_call* oldest() const noexcept { return calls_.oldest; }
  void push(limited_call& c) noexcept;
  void remove(limited_call& c) noexcept;
  // Removes a call of the client whose turn it is; null if there is none.
  [[nodiscard]] limited_call* take(bool newest_first) noexcept;

  // Whether the client with the most calls has so many more than this one that it must give one up.
  [[nodiscard]] bool is_greedier_than(std::uint64_t client) const noexcept {
    return longest_ >= queue_for(client).calls.size + 2;
  }
  // Whether a client has no call here, and can be told apart from the others.
  [[nodiscard]] bool is_first_of(std::uint64_t client) const noexcept {
    return queue_for(client).calls.size == 0;
  }
  // The call that was taken last does not run: its client pays nothing for it, and has had no turn.
  void give_back(const limited_call& c) noexcept;
  // The oldest call of the client with the most; null if there is none.
  [[nodiscard]] limited_call* first_to_lose() const noexcept;

 private:
  // A client finds its queue among so many. Clients whose queues are all in use share the first one.
  static constexpr std::size_t set_size = 8;
  static_assert(clients_max % set_size == 0);

  [[nodiscard]] const client_queue& queue_for(std::uint64_t client) const noexcept;
  [[nodiscard]] client_queue& queue_for(std::uint64_t client) noexcept {
    return const_cast<client_queue&>(static_cast<const client_turns&>(*this).queue_for(client));
  }
  void enter_ring(client_queue& q, std::uint64_t client) noexcept;
  void pass_turn() noexcept;
  void count_turn() noexcept { rounds_ += 1 / static_cast<double>(in_ring_); }
  void leave_ring(client_queue& q) noexcept;
  // In usual calls. Learns what is usual.
  [[nodiscard]] double cost_of(const limited_call& c) noexcept;

  call_list<&limited_call::of_level> calls_;
  std::vector<client_queue> queues_;
  client_queue* turn_ = nullptr;  // whose it is; null: no call waits
  std::size_t in_ring_ = 0;
  std::uint64_t turns_ = 0;  // of all clients, since the beginning
  double rounds_ = 0;  // of all clients, since the beginning
  client_queue* charged_ = nullptr;  // by take(), for the last call; null: it was given back
  double charge_ = 0;
  std::uint64_t last_turn_before_ = 0;  // of that client, before that call
  bool had_turn_before_ = false;
  double usual_cost_s_ = 0;  // 0: not known
  std::vector<std::uint16_t> clients_with_;  // so many calls, by that number, which is not 0
  std::size_t longest_ = 0;  // the most calls of a client
};

}  // namespace coracle::server_internal
