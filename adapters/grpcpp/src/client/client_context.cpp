// ClientContext.
#include <grpcpp/client_context.h>
#include <grpcpp/impl/channel_interface.h>
#include <grpcpp/impl/interception.h>
#include <grpcpp/server_context.h>

#include "adapters/grpcpp/src/client/client_context_access.hpp"
#include "adapters/grpcpp/src/credentials/auth_context.hpp"
#include "adapters/grpcpp/src/server/server_context_access.hpp"
#include "adapters/grpcpp/src/values/addresses.hpp"

#include "coracle/security/connection_peer.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace grpc {

namespace internal {

std::string time_text(std::chrono::system_clock::time_point t) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(t);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char whole[32];
  const std::size_t length = std::strftime(whole, sizeof whole, "%Y-%m-%dT%H:%M:%S", &parts);
  char part[32];
  std::snprintf(part, sizeof part, ".%09lld+00:00", static_cast<long long>(ns % 1'000'000'000));
  return std::string(whole, length) + part;
}

void call_children::add(ClientContext& child) {
  const std::lock_guard lock(changing_);
  if (ended_) return child.TryCancel();
  all_.insert(&child);
}

void call_children::remove(ClientContext& child) {
  const std::lock_guard lock(changing_);
  all_.erase(&child);
}

void call_children::end() noexcept {
  const std::lock_guard lock(changing_);
  ended_ = true;
  for (ClientContext* const child : all_) child->TryCancel();
  all_.clear();
}

namespace {

std::atomic<ClientContext::GlobalCallbacks*> of_all_contexts{nullptr};

}  // namespace
}  // namespace internal

ClientContext::ClientContext() {
  if (auto* const callbacks = internal::of_all_contexts.load(std::memory_order_acquire))
    callbacks->DefaultConstructor(this);
}

ClientContext::~ClientContext() {
  if (parent_) parent_->remove(*this);
  if (auto* const callbacks = internal::of_all_contexts.load(std::memory_order_acquire))
    callbacks->Destructor(this);
}

void ClientContext::SetGlobalCallbacks(GlobalCallbacks* callbacks) { internal::of_all_contexts = callbacks; }

std::unique_ptr<ClientContext> ClientContext::FromServerContext(const ServerContextBase& context,
                                                                PropagationOptions options) {
  auto made = std::make_unique<ClientContext>();
  if (options.c_bitmask() & GRPC_PROPAGATE_DEADLINE) made->parent_deadline_ = context.raw_deadline();
  if (options.c_bitmask() & GRPC_PROPAGATE_CANCELLATION) {
    made->parent_ = internal::server_context_access::children(context);
    if (made->parent_) made->parent_->add(*made);
  }
  return made;
}

std::unique_ptr<ClientContext> ClientContext::FromCallbackServerContext(const CallbackServerContext& context,
                                                                        PropagationOptions options) {
  return FromServerContext(context, options);
}

std::string ClientContext::peer() const {
  const std::lock_guard lock(changing_);
  return peer_ ? internal::text_of(peer_->address, "inproc") : std::string();
}

std::shared_ptr<const AuthContext> ClientContext::auth_context() const {
  const std::lock_guard lock(changing_);
  if (!auth_ && peer_)
    auth_ = peer_->auth ? std::make_shared<const internal::own_auth_context>(*peer_->auth)
                        : std::make_shared<const internal::own_auth_context>();
  return auth_ ? auth_ : std::make_shared<const internal::own_auth_context>();
}

void ClientContext::TryCancel() {
  std::shared_ptr<internal::call_interception> seen;
  {
    const std::lock_guard lock(changing_);
    seen = interception_;
  }
  if (seen) seen->cancelled();
  const std::lock_guard lock(changing_);
  cancelled_ = true;
  if (active_) active_->cancel();
}

}  // namespace grpc
