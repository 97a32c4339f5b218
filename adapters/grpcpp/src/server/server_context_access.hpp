// server_context_access: what the library reads and writes of a ServerContext.
#pragma once

#include <grpcpp/server_context.h>

#include "adapters/grpcpp/src/server/server_call_core.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace grpc::internal {

// On the thread of the program that uses the context.
struct server_context_access {
  static void bind(ServerContextBase& c, std::shared_ptr<server_call_core> call) {
    c.deadline_ = call->deadline();
    c.call_ = std::move(call);
  }
  static void set_interception(ServerContextBase& c, std::shared_ptr<call_interception> seen) {
    c.interception_ = std::move(seen);
  }
  static std::optional<void*> done_tag(const ServerContextBase& c) noexcept { return c.done_tag_; }
  // What interceptors see and change.
  static std::multimap<std::string, std::string> initial_map(const ServerContextBase& c) {
    return {c.initial_.begin(), c.initial_.end()};
  }
  static std::multimap<std::string, std::string> trailing_map(const ServerContextBase& c) {
    return {c.trailing_.begin(), c.trailing_.end()};
  }
  static void set_initial(ServerContextBase& c, const std::multimap<std::string, std::string>& pairs) {
    c.initial_.assign(pairs.begin(), pairs.end());
  }
  static void set_trailing(ServerContextBase& c, const std::multimap<std::string, std::string>& pairs) {
    c.trailing_.assign(pairs.begin(), pairs.end());
  }
  static metadata_map::map_type* client_map(ServerContextBase& c) {
    return c.call_ ? &c.call_->changeable_client_metadata() : nullptr;
  }
  // Null: the context belongs to no call.
  static std::shared_ptr<call_children> children(const ServerContextBase& c) {
    return c.call_ ? c.call_->children() : nullptr;
  }
  // The initial metadata that no operation has taken yet.
  static sent_headers take_headers(ServerContextBase& c) {
    return sent_headers(std::exchange(c.initial_, {}), c.compression_);
  }
  static call_end take_end(ServerContextBase& c, const Status& outcome) {
    call_end end;
    end.outcome = outcome;
    end.headers = take_headers(c);
    end.trailing = std::exchange(c.trailing_, {});
    return end;
  }
};

}  // namespace grpc::internal
