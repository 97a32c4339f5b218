// Names that programs written for other versions of grpc++ use.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/callback_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/generic/generic_stub_callback.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/message_allocator.h>
#include <grpcpp/support/server_callback.h>

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <string>
#include <type_traits>

namespace coracle::testing_support::names_test {
namespace {

struct a {};
struct b {};

template <class X, class Y>
constexpr bool same = std::is_same_v<X, Y>;

namespace old = grpc::experimental;

static_assert(same<old::ServerUnaryReactor, grpc::ServerUnaryReactor>);
static_assert(same<old::ServerReadReactor<a>, grpc::ServerReadReactor<a>>);
static_assert(same<old::ServerWriteReactor<a>, grpc::ServerWriteReactor<a>>);
static_assert(same<old::ServerBidiReactor<a, b>, grpc::ServerBidiReactor<a, b>>);
static_assert(same<old::ServerCallbackUnary, grpc::ServerCallbackUnary>);
static_assert(same<old::ServerCallbackReader<a>, grpc::ServerCallbackReader<a>>);
static_assert(same<old::ServerCallbackWriter<a>, grpc::ServerCallbackWriter<a>>);
static_assert(same<old::ServerCallbackReaderWriter<a, b>, grpc::ServerCallbackReaderWriter<a, b>>);
static_assert(same<old::ClientUnaryReactor, grpc::ClientUnaryReactor>);
static_assert(same<old::ClientReadReactor<a>, grpc::ClientReadReactor<a>>);
static_assert(same<old::ClientWriteReactor<a>, grpc::ClientWriteReactor<a>>);
static_assert(same<old::ClientBidiReactor<a, b>, grpc::ClientBidiReactor<a, b>>);
static_assert(same<old::ClientCallbackUnary, grpc::ClientCallbackUnary>);
static_assert(same<old::ClientCallbackReader<a>, grpc::ClientCallbackReader<a>>);
static_assert(same<old::ClientCallbackWriter<a>, grpc::ClientCallbackWriter<a>>);
static_assert(same<old::ClientCallbackReaderWriter<a, b>, grpc::ClientCallbackReaderWriter<a, b>>);
static_assert(same<old::CallbackServerContext, grpc::CallbackServerContext>);
static_assert(same<old::RpcAllocatorState, grpc::RpcAllocatorState>);
static_assert(same<old::MessageHolder<a, b>, grpc::MessageHolder<a, b>>);
static_assert(same<old::MessageAllocator<a, b>, grpc::MessageAllocator<a, b>>);
static_assert(same<old::ServerGenericBidiReactor, grpc::ServerGenericBidiReactor>);
static_assert(same<old::GenericCallbackServerContext, grpc::GenericCallbackServerContext>);
static_assert(same<old::CallbackGenericService, grpc::CallbackGenericService>);

// A program that uses both namespaces names them without an ambiguity.
namespace of_both {

using namespace grpc;                // NOLINT(google-build-using-namespace)
using namespace grpc::experimental;  // NOLINT(google-build-using-namespace)
static_assert(same<ServerBidiReactor<a, b>, ClientBidiReactor<a, b>> == false);

}  // namespace of_both

// Metadata of calls.
class pass final : public grpc::MetadataCredentialsPlugin {
 public:
  grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                           std::multimap<std::string, std::string>*) override {
    return {};
  }
  std::string DebugString() override { return "pass"; }
};

TEST(GrpcppNames, CredentialsOfAPluginMayHaveALevel) {
  const auto made =
      grpc::experimental::MetadataCredentialsFromPlugin(std::make_unique<pass>(), GRPC_PRIVACY_AND_INTEGRITY);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->DebugString(), "pass");
}

TEST(GrpcppNames, AGenericStubOfCallbacksMakesCalls) {
  static_assert(same<grpc::GenericStubCallback,
                     grpc::TemplatedGenericStubCallback<grpc::ByteBuffer, grpc::ByteBuffer>>);
  const auto channel = grpc::CreateChannel("localhost:1", nullptr);  // each of its calls fails
  grpc::GenericStubCallback stub(channel);
  grpc::ClientContext context;
  const grpc::ByteBuffer request(nullptr, 0);
  grpc::ByteBuffer reply;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&context, "/harbour.Harbour/Enter", {}, &request, &reply,
                 [&](const grpc::Status& s) { ended.set_value(s); });
  EXPECT_FALSE(ended.get_future().get().ok());
}

}  // namespace
}  // namespace coracle::testing_support::names_test
