#include "server/admission/client_turns.hpp"

#include <algorithm>
#include <tuple>

namespace coracle::server_internal {

namespace {

// How fast what is usual follows the calls that leave.
constexpr double usual_share = 0.05;

}  // namespace

client_turns::client_turns(std::size_t calls_max) : queues_(clients_max), clients_with_(calls_max + 2) {}

const client_queue& client_turns::queue_for(std::uint64_t client) const noexcept {
  const client_queue* const set = &queues_[client % (clients_max / set_size) * set_size];
  const client_queue* unused = nullptr;
  // One that never had a turn is forgotten first: otherwise, a caller with many addresses would displace the
  // clients that take turns. Then one that owes nothing, and of these the one whose last turn was first.
  const auto is_forgotten_before = [](const client_queue& a, const client_queue& b) {
    const auto value_of = [](const client_queue& q) {
      return std::tuple(q.has_had_turn, std::max(0.0, -q.credit), q.last_turn);
    };
    return value_of(a) < value_of(b);
  };
  for (const client_queue* q = set; q != set + set_size; ++q) {
    if (q->client == client) return *q;
    if (q->calls.size == 0 && (!unused || is_forgotten_before(*q, *unused))) unused = q;
  }
  return unused ? *unused : *set;
}

void client_turns::push(limited_call& c) noexcept {
  client_queue& q = queue_for(c.client);
  if (q.calls.size == 0) {
    enter_ring(q, c.client);
  } else {
    --clients_with_[q.calls.size];
  }
  c.queue = &q;
  q.calls.push(c);
  calls_.push(c);
  ++clients_with_[q.calls.size];
  longest_ = std::max(longest_, q.calls.size);
}

void client_turns::remove(limited_call& c) noexcept {
  client_queue& q = *c.queue;
  --clients_with_[q.calls.size];
  // A client with fewer calls is this one, at the least.
  if (q.calls.size == longest_ && clients_with_[longest_] == 0) --longest_;
  calls_.remove(c);
  q.calls.remove(c);
  c.queue = nullptr;
  if (q.calls.size != 0) ++clients_with_[q.calls.size];
  else leave_ring(q);
}

// Before those whose last turn was later than its own, but not before the one whose turn has begun.
void client_turns::enter_ring(client_queue& q, std::uint64_t client) noexcept {
  if (q.client != client) {
    q = client_queue();
    q.client = client;
    q.last_turn = turns_;  // new ones come last: else many of them would keep the others waiting
  }
  q.credit = std::min(0.0, q.credit + rounds_ - q.left_at);
  ++in_ring_;
  if (!turn_) {
    turn_ = q.next = q.previous = &q;
    q.credit += 1;  // its turn has begun
    return;
  }
  client_queue* before = turn_;
  if (turn_->previous->last_turn > q.last_turn) {
    before = turn_->next;
    while (before != turn_ && before->last_turn <= q.last_turn) before = before->next;
  }
  q.next = before;
  q.previous = before->previous;
  q.previous->next = q.next->previous = &q;
}

void client_turns::leave_ring(client_queue& q) noexcept {
  if (turn_ == &q) count_turn();
  q.left_at = rounds_;
  --in_ring_;
  if (q.next == &q) {
    turn_ = nullptr;
    rounds_ += cost_max * cost_max;  // more than anyone owes
    return;
  }
  q.previous->next = q.next;
  q.next->previous = q.previous;
  if (turn_ != &q) return;
  turn_ = q.next;
  // Its turn begins here, because take() begins only those that it passes on to.
  if (turn_->credit <= 0) turn_->credit += 1;
}

void client_turns::pass_turn() noexcept {
  count_turn();
  turn_->last_turn = ++turns_;
  turn_ = turn_->next;
  turn_->credit += 1;
}

limited_call* client_turns::take(bool newest_first) noexcept {
  if (!turn_) return nullptr;
  // At most cost_max rounds.
  while (turn_->credit <= 0) pass_turn();
  limited_call& c = newest_first ? *turn_->calls.newest : *turn_->calls.oldest;
  charged_ = turn_;
  charge_ = cost_of(c);
  charged_->credit -= charge_;
  last_turn_before_ = charged_->last_turn;
  had_turn_before_ = charged_->has_had_turn;
  charged_->last_turn = ++turns_;
  charged_->has_had_turn = true;
  remove(c);
  return &c;
}

void client_turns::give_back(const limited_call& c) noexcept {
  if (!charged_ || charged_->client != c.client) return;
  charged_->credit += charge_;
  charged_->last_turn = last_turn_before_;
  charged_->has_had_turn = had_turn_before_;
  charged_ = nullptr;
}

double client_turns::cost_of(const limited_call& c) noexcept {
  if (c.cost_s <= 0) return 1;
  if (usual_cost_s_ <= 0) usual_cost_s_ = c.cost_s;
  usual_cost_s_ += (c.cost_s - usual_cost_s_) * usual_share;
  return std::clamp(c.cost_s / usual_cost_s_, 1 / cost_max, cost_max);
}

limited_call* client_turns::first_to_lose() const noexcept {
  if (!turn_) return nullptr;
  const client_queue* q = turn_;
  while (q->calls.size != longest_) q = q->next;
  return q->calls.oldest;
}

}  // namespace coracle::server_internal
