// ChannelArguments: the options of a channel or a server, by name.
#pragma once

#include <grpc/compression.h>
#include <grpc/impl/channel_arg_names.h>
#include <grpcpp/impl/call_observing.h>
#include <grpcpp/support/config.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// Of the C library, as far as functions that do not exist name them.
struct grpc_arg;
struct grpc_socket_mutator;
struct grpc_channel_args {
  std::size_t num_args;
  grpc_arg* args;
};
struct grpc_arg_pointer_vtable {
  void* (*copy)(void* object);
  void (*destroy)(void* object);
  int (*cmp)(void* a, void* b);
};

namespace grpc {

class ResourceQuota;

/// A set of named values. A value type. The first value that a name is given counts. Arguments that have no
/// meaning for the library are accepted, and named in a log line once.
class ChannelArguments {
 public:
  ChannelArguments() = default;

  /// Verifies the certificate of the server for this name instead of the target's. For tests.
  void SetSslTargetNameOverride(const std::string& name) {
    SetString(GRPC_SSL_TARGET_NAME_OVERRIDE_ARG, name);
  }
  void SetCompressionAlgorithm(grpc_compression_algorithm algorithm) {
    SetInt(GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM, algorithm);
  }
  void SetGrpclbFallbackTimeout(int timeout_ms) { SetInt(GRPC_ARG_GRPCLB_FALLBACK_TIMEOUT_MS, timeout_ms); }
  /// Puts a text before the library's own in the user-agent, and before those of earlier calls.
  void SetUserAgentPrefix(const std::string& prefix) {
    const auto found = values_.find(GRPC_ARG_PRIMARY_USER_AGENT_STRING);
    const std::string* const others =
        found == values_.end() ? nullptr : std::get_if<std::string>(&found->second);
    replace(GRPC_ARG_PRIMARY_USER_AGENT_STRING, others ? prefix + " " + *others : prefix);
  }
  /// Has no effect: the memory of a channel has no limit.
  void SetResourceQuota(const ResourceQuota& /*quota*/) {}
  void SetMaxReceiveMessageSize(int bytes) { SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, bytes); }
  void SetMaxSendMessageSize(int bytes) { SetInt(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, bytes); }
  void SetLoadBalancingPolicyName(const std::string& name) { SetString(GRPC_ARG_LB_POLICY_NAME, name); }
  void SetServiceConfigJSON(const std::string& json) { SetString(GRPC_ARG_SERVICE_CONFIG, json); }
  void SetInt(const std::string& key, int number) { values_.emplace(key, number); }
  void SetString(const std::string& key, const std::string& text) { values_.emplace(key, text); }
  /// For objects that programs pass to each other's plugins; the library takes
  /// kHealthCheckServiceInterfaceArg only, and does not own the others.
  void SetPointer(const std::string& key, void* object) { values_.emplace(key, object); }
  void SetPointerWithVtable(const std::string& key, void* object, const grpc_arg_pointer_vtable* vtable)
      CORACLE_GRPCPP_MISSING("arguments own no objects: SetPointer(key, object)");
  void SetSocketMutator(grpc_socket_mutator* mutator) CORACLE_GRPCPP_MISSING(
      "there are no socket mutators: CreateInsecureChannelFromFd() with a socket of your own");
  void SetChannelArgs(grpc_channel_args* to) const
      CORACLE_GRPCPP_MISSING("there are no arguments of the C library: SetInt(), SetString()");
  grpc_channel_args c_channel_args() const
      CORACLE_GRPCPP_MISSING("there are no arguments of the C library: SetInt(), SetString()");
  void Swap(ChannelArguments& other) {
    values_.swap(other.values_);
    observing_.swap(other.observing_);
  }

  // For the library.
  using value = std::variant<int, std::string, void*>;
  const std::map<std::string, value>& values() const { return values_; }
  void replace(const std::string& key, value v) { values_.insert_or_assign(key, std::move(v)); }
  void SetAll(const ChannelArguments& others) {
    for (const auto& [key, v] : others.values_) values_.insert_or_assign(key, v);
    observing_.insert(observing_.end(), others.observing_.begin(), others.observing_.end());
  }
  using observers = std::vector<std::shared_ptr<const internal::call_observing>>;
  void observe(std::shared_ptr<const internal::call_observing> by) { observing_.push_back(std::move(by)); }
  const observers& observing() const { return observing_; }

 private:
  std::map<std::string, value> values_;
  observers observing_;
};

}  // namespace grpc
