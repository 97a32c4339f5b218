// client_context_access: what the library reads and writes of a ClientContext.
#pragma once

#include <grpcpp/client_context.h>

#include "adapters/grpcpp/src/values/statuses.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace grpc::internal {

// As RFC 3339 has it, in UTC.
std::string time_text(std::chrono::system_clock::time_point t);

struct client_context_access {
  static const auto& sent(const ClientContext& c) noexcept { return c.sent_; }
  static const auto& deadline(const ClientContext& c) noexcept { return c.deadline_; }
  static const auto& wait_for_ready(const ClientContext& c) noexcept { return c.wait_for_ready_; }
  static const auto& compression(const ClientContext& c) noexcept { return c.compression_; }
  static const auto& credentials(const ClientContext& c) noexcept { return c.credentials_; }

  static bool corked(const ClientContext& c) noexcept { return c.corked_; }
  static const auto& authority(const ClientContext& c) noexcept { return c.authority_; }
  static const auto& parent_deadline(const ClientContext& c) noexcept { return c.parent_deadline_; }

  // What a call of Coracle has when its initial metadata have arrived, or at its end.
  template <class Call>
  static void take_initial(ClientContext& c, const Call& call) {
    set_initial(c, call.initial_metadata());
    const std::lock_guard lock(c.changing_);
    c.peer_ = call.peer();
  }
  static void set_initial(ClientContext& c, const coracle::metadata& from) {
    c.initial_.clear();
    add_to(c.initial_, from);
  }
  static void set_trailing(ClientContext& c, const coracle::metadata& from, const coracle::status& end) {
    c.trailing_.clear();
    add_to(c.trailing_, from);
    if (!end.details().empty()) c.trailing_.add("grpc-status-details-bin", end.details());
  }
  // What interceptors see and change.
  static std::multimap<std::string, std::string> sent_map(const ClientContext& c) {
    return {c.sent_.begin(), c.sent_.end()};
  }
  static void set_sent(ClientContext& c, const std::multimap<std::string, std::string>& pairs) {
    c.sent_.assign(pairs.begin(), pairs.end());
  }
  static metadata_map::map_type* initial_map(ClientContext& c) { return &c.initial_.changeable_map(); }
  static metadata_map::map_type* trailing_map(ClientContext& c) { return &c.trailing_.changeable_map(); }
  // True: the call was cancelled before.
  [[nodiscard]] static bool set_interception(ClientContext& c, std::shared_ptr<call_interception> seen) {
    const std::lock_guard lock(c.changing_);
    c.interception_ = std::move(seen);
    return c.cancelled_;
  }
  // The end of a call that TryCancel() has ended, in the words of the original.
  static Status cancelled_status() { return {StatusCode::CANCELLED, "CANCELLED"}; }
  static Status outcome_of(ClientContext& c, const coracle::status& s) {
    if (s.code() != coracle::status_code::cancelled) return status_of(s);
    const std::lock_guard lock(c.changing_);
    return c.cancelled_ ? cancelled_status() : status_of(s);
  }
  // In the words of the original; an answer of a server is told apart by its address.
  static void set_failure(ClientContext& c, const Status& s) {
    const std::string code = "grpc_status:" + std::to_string(s.error_code());
    const std::string created = "created_time:\"" + time_text(std::chrono::system_clock::now()) + "\"";
    const std::string peer = c.peer();
    c.failure_ = peer.empty() ? "UNKNOWN:" + s.error_message() + " {" + code + ", " + created + "}"
                              : "UNKNOWN:Error received from peer " + peer + " {" + code +
                                    ", grpc_message:\"" + s.error_message() + "\", " + created + "}";
  }
  static void keep(ClientContext& c, std::shared_ptr<void> stream) { c.stream_ = std::move(stream); }

  // Calls begin(), and has TryCancel() reach `target` from then on. False: TryCancel() was called before.
  template <class Begin>
  static bool attach(ClientContext& c, cancel_target& target, Begin begin) {
    const std::lock_guard lock(c.changing_);
    if (c.cancelled_) return false;
    begin();
    c.active_ = &target;
    return true;
  }
  // Later calls of TryCancel() have no effect.
  static void detach(ClientContext& c) noexcept {
    const std::lock_guard lock(c.changing_);
    c.active_ = nullptr;
  }
};

}  // namespace grpc::internal
