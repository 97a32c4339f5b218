// dns_question: awaits the addresses of one name, or its records of another kind.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/resolver.hpp"

#include <coroutine>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

struct ares_addrinfo;

namespace coracle::net {

enum class dns_kind : std::uint8_t { addresses, texts, services };

// Of the kind that was asked for.
struct dns_answer {
  dns_answer() noexcept {}
  std::vector<address> addresses;
  std::vector<std::string> texts;
  std::vector<service_record> services;
};
static_assert(!std::is_aggregate_v<dns_answer>, "GCC 12 destroys aggregates in co_await expressions twice");

// Reads `message`, a response as it came, only when the status is ARES_SUCCESS.
result<dns_answer> ares_records(int ares_status, std::span<const unsigned char> message,
                                std::string_view name, dns_kind kind);

// Reads `found` only when the status is ARES_SUCCESS.
result<std::vector<address>> ares_answer(int ares_status, const ares_addrinfo* found, std::string_view host,
                                         std::uint16_t port);

class dns_channel;

// Lives in the frame that awaits it, and is awaited once. c-ares never refers to it directly, but to a record
// on the heap that points here until the answer arrives. A stop or a deadline of the awaiter's environment
// can therefore end the wait at once; an answer that arrives later is discarded.
class dns_question : coro::runnable, coro::timer, coro::stop_callback {
 public:
  dns_question(dns_channel& to, std::string host, std::uint16_t port, dns_kind kind = dns_kind::addresses);
  dns_question(const dns_question&) = delete;
  dns_question& operator=(const dns_question&) = delete;

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return start(h, coro::environment_of(h));
  }
  result<dns_answer> await_resume() { return *std::move(answer_); }

 private:
  friend class dns_channel;
  // The context that c-ares holds.
  struct record {
    dns_channel& channel;
    dns_question* question;  // null once the query was cancelled
  };
  struct queue_entry : base::list_hook {
    explicit queue_entry(dns_question& q) noexcept : owner(q) {}
    dns_question& owner;
  };
  bool start(std::coroutine_handle<> h, const coro::environment& e) noexcept;
  void answered(int ares_status, const ares_addrinfo* found) noexcept;
  void answered(int ares_status, std::span<const unsigned char> message) noexcept;
  void fail(status reason) noexcept;
  void end(result<dns_answer> answer) noexcept;

  dns_channel& channel_;
  const std::string host_;
  const std::uint16_t port_;
  const dns_kind kind_;
  queue_entry queue_{*this};  // while the query waits for a slot of the channel
  record* record_ = nullptr;  // while c-ares processes the query
  time_point deadline_ = never;
  std::coroutine_handle<> waiter_;  // set from suspension to resumption
  std::optional<result<dns_answer>> answer_;
};

}  // namespace coracle::net
