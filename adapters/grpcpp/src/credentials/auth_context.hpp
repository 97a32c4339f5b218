// own_auth_context: an AuthContext with its properties.
#pragma once

#include <grpcpp/security/auth_context.h>

#include "coracle/security/auth_context.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace grpc::internal {

class own_auth_context final : public AuthContext {
 public:
  own_auth_context() = default;  // of plaintext
  explicit own_auth_context(const coracle::auth_context& of);
  [[nodiscard]] bool IsPeerAuthenticated() const override { return !identity_.empty(); }
  [[nodiscard]] std::vector<string_ref> GetPeerIdentity() const override {
    return identity_.empty() ? std::vector<string_ref>() : FindPropertyValues(identity_);
  }
  [[nodiscard]] std::string GetPeerIdentityPropertyName() const override { return identity_; }
  [[nodiscard]] std::vector<string_ref> FindPropertyValues(const std::string& name) const override;
  [[nodiscard]] AuthPropertyIterator begin() const override {
    return AuthPropertyIterator(properties_.data());
  }
  [[nodiscard]] AuthPropertyIterator end() const override {
    return AuthPropertyIterator(properties_.data() + properties_.size());
  }
  void AddProperty(const std::string& name, const string_ref& value) override {
    properties_.emplace_back(name, std::string(value.data(), value.size()));
  }
  bool SetPeerIdentityPropertyName(const std::string& name) override;

 private:
  std::vector<std::pair<std::string, std::string>> properties_;
  std::string identity_;  // the name of the properties that are the peer's identity
};

}  // namespace grpc::internal
