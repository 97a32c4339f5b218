// ServerContext.
#include <grpcpp/impl/interception.h>
#include <grpcpp/server_context.h>

#include "adapters/grpcpp/src/credentials/auth_context.hpp"
#include "adapters/grpcpp/src/server/server_call_core.hpp"
#include "adapters/grpcpp/src/server/server_metrics.hpp"

namespace grpc {

ServerContextBase::~ServerContextBase() {
  if (call_) call_->try_cancel();
}

bool ServerContextBase::IsCancelled() const { return call_ && call_->is_cancelled(); }

void ServerContextBase::TryCancel() const {
  if (interception_) interception_->cancelled();
  if (call_) call_->try_cancel();
}

const std::multimap<string_ref, string_ref>& ServerContextBase::client_metadata() const {
  return call_ ? call_->client_metadata().map() : of_test_.map();
}

std::shared_ptr<const AuthContext> ServerContextBase::auth_context() const {
  if (call_) return call_->auth();
  return std::make_shared<const internal::own_auth_context>();
}

const std::string& ServerContextBase::authority() const {
  static const std::string& none = *new std::string;
  return call_ ? call_->authority() : none;
}

experimental::CallMetricRecorder* ServerContextBase::ExperimentalGetCallMetricRecorder() {
  return call_ ? call_->load() : nullptr;
}

std::string ServerContextBase::peer() const { return call_ ? call_->peer() : std::string(); }

}  // namespace grpc
