#include "coracle/runtime/loop.hpp"
#include "coracle/server/idempotency.hpp"

#include <list>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace coracle {

namespace {

class memory_store final : public idempotency_store {
 public:
  explicit memory_store(memory_idempotency_limits limits) : limits_(limits) {}

  task<idempotency_claim> claim(const idempotent_call& call) override {
    const std::lock_guard lock(mutex_);
    const time_point now = loop::current()->now();
    forget_old(now);
    const auto found = calls_.find(key_of(call));
    if (found == calls_.end()) {
      while (calls_.size() >= limits_.calls_max && !ended_.empty()) forget_oldest();
      if (calls_.size() >= limits_.calls_max) co_return idempotency_claim::answer::full;
      const auto made = calls_.try_emplace(key_of(call)).first;
      made->second.request = call.request;
      made->second.place.push_back({{}, made});
      co_return idempotency_claim::answer::granted;
    }
    const record_of_call& r = found->second;
    if (r.request != call.request) co_return idempotency_claim::answer::another;
    idempotency_claim claim(r.is_ended ? idempotency_claim::answer::ended
                                       : idempotency_claim::answer::running);
    if (r.is_ended) claim.outcome = r.outcome;
    co_return claim;
  }

  task<> record(const idempotent_call& call, idempotent_outcome outcome) override {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(key_of(call));
    if (found == calls_.end()) co_return;
    record_of_call& r = found->second;
    r.place.front().at = loop::current()->now();
    ended_.splice(ended_.end(), r.place);
    r.outcome = std::move(outcome);
    r.is_ended = true;
    r.bytes = bytes_of(found->first, r.outcome);
    bytes_ += r.bytes;
    while (bytes_ > limits_.bytes_max) forget_oldest();
  }

  task<> release(const idempotent_call& call) override {
    const std::lock_guard lock(mutex_);
    calls_.erase(key_of(call));
    co_return;
  }

 private:
  using key = std::tuple<std::string, std::string, std::string>;
  struct ended_call;
  struct record_of_call {
    std::uint64_t request = 0;
    bool is_ended = false;
    idempotent_outcome outcome;
    std::size_t bytes = 0;        // once it has ended
    std::list<ended_call> place;  // its node of ended_, so that the end of a call allocates nothing
  };
  using calls = std::map<key, record_of_call>;
  struct ended_call {
    time_point at;
    calls::iterator call;
  };

  static key key_of(const idempotent_call& c) { return {c.method, c.client, c.key}; }
  static std::size_t bytes_of(const key& k, const idempotent_outcome& o) {
    std::size_t n = std::get<0>(k).size() + std::get<1>(k).size() + std::get<2>(k).size() + o.reply.size() +
                    o.outcome.message().size();
    for (const auto& [name, value] : o.trailing) n += name.size() + value.size();
    return n;
  }
  void forget_oldest() {
    bytes_ -= ended_.front().call->second.bytes;
    calls_.erase(ended_.front().call);
    ended_.pop_front();
  }
  void forget_old(time_point now) {
    while (!ended_.empty() && now - ended_.front().at >= limits_.kept) forget_oldest();
  }

  const memory_idempotency_limits limits_;
  std::mutex mutex_;  // the calls of all loops are here
  calls calls_;
  std::list<ended_call> ended_;  // the oldest first
  std::size_t bytes_ = 0;
};

}  // namespace

std::shared_ptr<idempotency_store> memory_idempotency_store(memory_idempotency_limits limits) {
  return std::make_shared<memory_store>(limits);
}

}  // namespace coracle
