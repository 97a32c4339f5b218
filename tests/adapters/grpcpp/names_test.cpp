// Names that programs written for other versions of grpc++ use.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/callback_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/generic/generic_stub_callback.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/message_allocator.h>
#include <grpcpp/support/server_callback.h>

#include <grpc/compression.h>
#include <grpc/support/alloc.h>
#include <grpc/support/cpu.h>
#include <grpc/support/string_util.h>
#include <grpc/support/thd_id.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
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

TEST(GrpcppNames, TextsOfTheCLibraryAreFreed) {
  EXPECT_EQ(gpr_malloc(0), nullptr);
  auto* bytes = static_cast<char*>(gpr_zalloc(3));
  EXPECT_EQ(std::string(bytes, 3), std::string(3, '\0'));
  bytes = static_cast<char*>(gpr_realloc(bytes, 1000));
  bytes[999] = 'h';
  gpr_free(bytes);
  void* const aligned = gpr_malloc_aligned(10, 64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 64, 0u);
  gpr_free_aligned(aligned);
  char* const copy = gpr_strdup("example");
  EXPECT_STREQ(copy, "example");
  gpr_free(copy);
  EXPECT_EQ(gpr_strdup(nullptr), nullptr);
  char* printed = nullptr;
  EXPECT_EQ(gpr_asprintf(&printed, "%d units", 12), 8);
  EXPECT_STREQ(printed, "12 units");
  gpr_free(printed);
}

TEST(GrpcppNames, CoresAndThreadsHaveNumbers) {
  EXPECT_LT(gpr_cpu_current_cpu(), gpr_cpu_num_cores());
  const gpr_thd_id own = gpr_thd_currentid();
  EXPECT_EQ(own, gpr_thd_currentid());
  gpr_thd_id other = own;
  std::thread([&] { other = gpr_thd_currentid(); }).join();
  EXPECT_NE(other, own);
}

TEST(GrpcppNames, CompressionsHaveNamesAsInHeaders) {
  for (const auto algorithm : {GRPC_COMPRESS_NONE, GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    const char* name = nullptr;
    ASSERT_EQ(grpc_compression_algorithm_name(algorithm, &name), 1);
    grpc_compression_algorithm parsed = GRPC_COMPRESS_ALGORITHMS_COUNT;
    EXPECT_EQ(grpc_compression_algorithm_parse(grpc_slice_from_static_string(name), &parsed), 1);
    EXPECT_EQ(parsed, algorithm);
  }
  const char* name = nullptr;
  ASSERT_EQ(grpc_compression_algorithm_name(GRPC_COMPRESS_GZIP, &name), 1);
  EXPECT_STREQ(name, "gzip");
  EXPECT_EQ(grpc_compression_algorithm_name(GRPC_COMPRESS_ALGORITHMS_COUNT, &name), 0);
  grpc_compression_algorithm parsed = GRPC_COMPRESS_NONE;
  EXPECT_EQ(grpc_compression_algorithm_parse(grpc_slice_from_static_string("br"), &parsed), 0);
}

TEST(GrpcppNames, WriteFlagsAreThoseOfTheOptions) {
  EXPECT_EQ(grpc::WriteOptions().flags(), 0u);
  EXPECT_EQ(grpc::WriteOptions().set_buffer_hint().flags(), GRPC_WRITE_BUFFER_HINT);
  EXPECT_EQ(grpc::WriteOptions().set_no_compression().flags(), GRPC_WRITE_NO_COMPRESS);
  EXPECT_EQ(grpc::WriteOptions().set_write_through().flags(), GRPC_WRITE_THROUGH);
}

TEST(GrpcppNames, ASliceIsShortened) {
  grpc_slice text = grpc_slice_from_copied_string("example");
  GRPC_SLICE_SET_LENGTH(text, 4);
  EXPECT_EQ(GRPC_SLICE_LENGTH(text), 4u);
  EXPECT_EQ(grpc::StringFromCopiedSlice(text), "exam");
  grpc_slice_unref(text);
}

TEST(GrpcppNames, CredentialsOfAPluginMayHaveALevel) {
  const auto made =
      grpc::experimental::MetadataCredentialsFromPlugin(std::make_unique<pass>(), GRPC_PRIVACY_AND_INTEGRITY);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->DebugString(), "SecureCallCredentials{pass}");
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
  stub.UnaryCall(&context, "/call_kinds.CallKinds/Enter", {}, &request, &reply,
                 [&](const grpc::Status& s) { ended.set_value(s); });
  EXPECT_FALSE(ended.get_future().get().ok());
}

}  // namespace
}  // namespace coracle::testing_support::names_test
