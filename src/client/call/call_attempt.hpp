// call_attempt: one attempt of a call on one connection; what a channel queues and serves.
#pragma once

#include "client/call/call_router.hpp"
#include "client/call/waiting_calls.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/call_protocol.hpp"
#include "coracle/client/impl/call_channel.hpp"
#include "coracle/client/server_labels.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "transport/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace coracle {
class http_observer;
class loop;
}  // namespace coracle

namespace coracle::client {

// Belongs to the call, and does not change after begin(). Every attempt points to it.
struct call_terms {
  std::string_view path;          // "/package.Service/Method", static text that a zero follows
  call_options options;           // the caller's, and what the method's configuration adds
  time_point deadline = never;    // of all attempts, including queueing and pauses
  metadata propagated;            // from the call whose handler makes this one
  loop* owner_loop = nullptr;           // the owner loop of the call
  bool unary = false;             // one request and one reply
  bool one_reply = false;         // many requests and one reply
  bool no_side_effects = false;   // the .proto says so
  bool unregistered = false;      // not made by a generated stub
  std::uint32_t number = 0;  // of the call on its loop, in records
  std::unique_ptr<const call_route> route{};  // null: the channel has no routes

  [[nodiscard]] bool wait_for_ready() const noexcept { return options.wait_for_ready.value_or(false); }
  [[nodiscard]] coracle::criticality criticality() const noexcept {
    return rpc::criticality_of(options.metadata, propagated);
  }
};

class call_attempt;
class rest_table;
struct call_setup;

// How a channel writes its calls to HTTP.
struct wire_options {
  call_protocol protocol = call_protocol::grpc;
  bool connect_get = false;
  std::size_t get_target_bytes_max = 0;
  // Of the channel's options, or null.
  const rest_table* rest = nullptr;
  http_observer* observer = nullptr;
};

// Learns how the attempts on a server end: for its load (gRFC A51), for the detection of outliers (A50), and
// for the calls in progress (A32). Exactly one of the two follows each attach().
class attempt_end_sink {
 public:
  // trailing: empty without trailers.
  virtual void attempt_ended(status_code code, const metadata& trailing) noexcept = 0;
  // The attempt has ended without an outcome that tells something of the server: another attempt was faster,
  // memory ran out, or the server has not processed it.
  virtual void attempt_abandoned() noexcept = 0;

 protected:
  ~attempt_end_sink() = default;
};

// What an attempt needs to know about the channel of its connection; outlives the exchange.
struct call_target {
  std::string_view scheme;
  std::string_view authority;
  call_channel* source = nullptr;  // for another attempt
  std::string_view user_agent;  // empty: library_user_agent()
  wire_options wire{};
  attempt_end_sink* ends = nullptr;  // of the server; null: no policy wants to know
  std::shared_ptr<const server_labels> labels{};  // of the server; null: no control plane has named it
  bool is_rewritten = false;  // the authority is that of the server, and not of the channel (gRFC A81)
};

// A place among the calls in progress that a policy limits (gRFC A32): it is free again when this ends.
class held_place {
 public:
  // among: the number of what counts the calls.
  explicit held_place(std::uint64_t among) noexcept : among_(among) {}
  held_place(const held_place&) = delete;
  held_place& operator=(const held_place&) = delete;
  virtual ~held_place() = default;
  [[nodiscard]] std::uint64_t among() const noexcept { return among_; }

 private:
  const std::uint64_t among_;
};

// Why a channel gives an attempt no exchange; determines whether a retry is allowed.
enum class refusal : std::uint8_t {
  // No connection is available now (the balancer's "fail"): a retry policy decides. An attempt whose terms
  // say wait_for_ready() never gets this refusal; it stays queued.
  unavailable,
  // The balancer drops the call, or the channel was closed. No retry is allowed.
  final,
  // The attempt has waited, and lost its place to another one. No further attempt begins, which would add to
  // those that wait; hedges that are in flight go on.
  displaced,
};

// A plain call is its own single attempt; a call with a retry or hedging policy makes several. Belongs to its
// call, on the loop of the call. For each begin() the channel calls exactly one of attach() and fail(), at
// once or later, unless the attempt unlinks itself first. While it waits it is linked in a list of the
// channel, so that a call that ends need not notify the channel. An attempt that is queued when its
// connection is lost stays queued, since it was never sent (gRFC A6, transparent retries). After attach() the
// exchange provides the facts about the connection: exchange::peer_address(), and abnormal_end::unprocessed
// if the server has certainly not processed the call (REFUSED_STREAM, GOAWAY).
class call_attempt : public transport::exchange_handler, public base::list_hook {
 public:
  explicit call_attempt(const call_terms& terms) noexcept : terms_(terms) {}
  call_attempt(const call_attempt&) = delete;
  call_attempt& operator=(const call_attempt&) = delete;

  // For picks: path, deadline, wait_for_ready() and the caller's metadata.
  [[nodiscard]] const call_terms& terms() const noexcept { return terms_; }
  // The number of what counts the calls of the policy that drops calls and has let it pass, or 0: it is not
  // drawn again there while it waits for a stream. A number, because what counts may be gone.
  [[nodiscard]] std::uint64_t admitted_to() const noexcept { return admitted_to_; }
  void set_admitted_to(std::uint64_t calls) const noexcept { admitted_to_ = calls; }
  // Holds the place of an attempt that waits for a stream, until it has one, has no server any more, or ends.
  [[nodiscard]] bool has_place() const noexcept { return place_ != nullptr; }
  [[nodiscard]] bool has_place_among(std::uint64_t calls) const noexcept {
    return place_ && place_->among() == calls;
  }
  void hold_place(std::unique_ptr<held_place> p) noexcept { place_ = std::move(p); }
  void release_place() const noexcept { place_.reset(); }
  // Its place among the calls of its channel that wait; none if they have no maximum.
  [[nodiscard]] bool has_waiting_place() const noexcept { return waiting_place_ != nullptr; }
  void hold_waiting_place(std::unique_ptr<waiting_place> p) noexcept { waiting_place_ = std::move(p); }

  // Gives the attempt a stream. The attempt unlinks itself and sends what it has. It must be the handler of
  // `x`. When the call returns, anything may have happened to the attempt, including its destruction.
  virtual void attach(transport::exchange x, const call_target& target) noexcept = 0;
  // Provides what a call waits for before its first attempt (call_channel::wait_for_config()): config, router
  // and secure_authority, borrowed for the duration of this function. As after attach(), the attempt may have
  // been destroyed.
  virtual void configured(const call_setup&) noexcept {}
  // Whether other attempts of its call are in progress, as for a hedge.
  [[nodiscard]] virtual bool has_siblings() const noexcept { return false; }
  // Reports that the attempt gets no stream. As after attach(), the attempt may have been destroyed.
  virtual void fail(const status& reason, refusal refused) noexcept = 0;

 protected:
  ~call_attempt() = default;
  // An attempt that has a stream, or ends, waits no longer. Returns whether it has waited.
  bool leave_queue() noexcept {
    if (!linked()) return false;
    list_hook::unlink();
    release_places();
    return true;
  }
  // The same for an attempt that the channel has taken out of its queue.
  void release_places() noexcept {
    waiting_place_.reset();
    place_.reset();
  }

 private:
  const call_terms& terms_;
  // Picks see the attempt as const.
  mutable std::unique_ptr<held_place> place_;
  std::unique_ptr<waiting_place> waiting_place_;
  mutable std::uint64_t admitted_to_ = 0;
};

}  // namespace coracle::client
