// A proxy that knows no .proto file: AsyncGenericService on one side, and GenericStub on the other. Calls of
// any kind pass through it.
#include "passed_call.hpp"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>

namespace programs::generic_proxy {
namespace {

using grpc::ByteBuffer;

struct proxy : proxy_state {
  explicit proxy(const std::shared_ptr<grpc::Channel>& to) : stub(to) {}
  grpc::AsyncGenericService service;
  grpc::GenericStub stub;
};

class generic_call final
    : public pumped_call<ByteBuffer, ByteBuffer, grpc::GenericServerAsyncReaderWriter,
                         grpc::GenericClientAsyncReaderWriter, grpc::GenericServerContext> {
 public:
  explicit generic_call(proxy& owner) : pumped_call(owner), proxy_(owner) {
    proxy_.service.RequestCall(&down_, &client_, queue(), queue(), &requested_);
  }

 private:
  void pass() override {
    new generic_call(proxy_);
    pump(proxy_.stub.PrepareCall(&up_, down_.method(), queue()));
  }
  proxy& proxy_;
};

}  // namespace

void serve(const arguments& given) {
  proxy proxy(channel_to(given.at(0)));
  grpc::ServerBuilder builder;
  builder.RegisterAsyncGenericService(&proxy.service);
  serve_proxy(builder, proxy, [&] { new generic_call(proxy); });
}

}  // namespace programs::generic_proxy
