// RpcMethod: a method as generated stubs describe it.
#pragma once

#include <grpcpp/impl/one_library.h>

#include <memory>
#include <string>
#include <utility>

namespace grpc {

class ChannelInterface;

namespace internal {

/// The name is "/package.Service/Method", and outlives the object and the calls that are made with it.
class RpcMethod {
 public:
  enum RpcType { NORMAL_RPC = 0, CLIENT_STREAMING, SERVER_STREAMING, BIDI_STREAMING };

  RpcMethod(const char* name, RpcType type) : name_(name), type_(type) {}
  RpcMethod(const char* name, const char* suffix_for_stats, RpcType type)
      : name_(name), suffix_for_stats_(suffix_for_stats), type_(type) {}
  RpcMethod(const char* name, RpcType type, const std::shared_ptr<ChannelInterface>&)
      : RpcMethod(name, type) {}
  RpcMethod(const char* name, const char* suffix_for_stats, RpcType type,
            const std::shared_ptr<ChannelInterface>&)
      : RpcMethod(name, suffix_for_stats, type) {}

  // For the library: with a name that the calls keep.
  RpcMethod(std::shared_ptr<const std::string> name, RpcType type)
      : RpcMethod(std::move(name), nullptr, type) {}
  RpcMethod(std::shared_ptr<const std::string> name, const char* suffix_for_stats, RpcType type)
      : name_(name->c_str()), suffix_for_stats_(suffix_for_stats), type_(type), kept_(std::move(name)) {}
  const std::shared_ptr<const std::string>& kept_name() const { return kept_; }

  const char* name() const { return name_; }
  const char* suffix_for_stats() const { return suffix_for_stats_; }
  RpcType method_type() const { return type_; }
  void SetMethodType(RpcType type) { type_ = type; }

 private:
  const char* name_;
  const char* suffix_for_stats_ = nullptr;
  RpcType type_;
  std::shared_ptr<const std::string> kept_;
};

}  // namespace internal
}  // namespace grpc
