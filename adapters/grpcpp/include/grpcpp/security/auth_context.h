// AuthContext: who the peer is, and how the connection is protected.
#pragma once

#include <grpc/grpc_security_constants.h>
#include <grpcpp/support/string_ref.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace grpc {

using AuthProperty = std::pair<string_ref, string_ref>;

/// Iterates over the properties; valid as long as the context and unchanged.
class AuthPropertyIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = const AuthProperty;
  using pointer = void;
  using reference = void;
  using difference_type = std::ptrdiff_t;

  AuthPropertyIterator() = default;
  explicit AuthPropertyIterator(const std::pair<std::string, std::string>* at) : at_(at) {}
  AuthPropertyIterator& operator++() { return ++at_, *this; }
  AuthPropertyIterator operator++(int) {
    const AuthPropertyIterator before = *this;
    ++at_;
    return before;
  }
  bool operator==(const AuthPropertyIterator& other) const { return at_ == other.at_; }
  bool operator!=(const AuthPropertyIterator& other) const { return at_ != other.at_; }
  AuthProperty operator*() const { return {at_->first, at_->second}; }

 private:
  const std::pair<std::string, std::string>* at_ = nullptr;
};

/// The properties of a connection: names with values, several of which may have one name.
class AuthContext {
 public:
  virtual ~AuthContext() = default;
  virtual bool IsPeerAuthenticated() const = 0;
  virtual std::vector<string_ref> GetPeerIdentity() const = 0;
  virtual std::string GetPeerIdentityPropertyName() const = 0;
  virtual std::vector<string_ref> FindPropertyValues(const std::string& name) const = 0;
  virtual AuthPropertyIterator begin() const = 0;
  virtual AuthPropertyIterator end() const = 0;
  virtual void AddProperty(const std::string& name, const string_ref& value) = 0;
  virtual bool SetPeerIdentityPropertyName(const std::string& name) = 0;
};

}  // namespace grpc
