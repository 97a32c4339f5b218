// Extensions of the API of grpc++ (servers in the process, mocks, certificates), where
// tests/interop/grpcpp_features_test.py does not look.
#include "call_kinds_fixture.hpp"
#include "support/revocations.hpp"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/error_details.h>
#include <grpcpp/support/validate_service_config.h>
#include <grpcpp/test/client_context_test_peer.h>
#include <grpcpp/test/mock_stream.h>
#include <grpcpp/test/server_context_test_spouse.h>

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing_support::extensions_test {
namespace {

using call_kinds::CallKinds;
using call_kinds::Reply;
using grpc::StatusCode;
using ::testing::HasSubstr;

// --- in one process

class GrpcppInProcess : public call_kinds_fixture<> {};

TEST_F(GrpcppInProcess, AServerWithoutAPortAnswers) {
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  stub = CallKinds::NewStub(server->InProcessChannel(grpc::ChannelArguments()));
  Reply reply;
  EXPECT_TRUE(find(query_of("hello", 7), reply).ok());
  EXPECT_EQ(reply.number(), 7);
  grpc::ClientContext context;
  const auto reader = stub->ServerStream(&context, query_of("", 3));
  int read = 0;
  while (reader->Read(&reply)) ++read;
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(read, 3);
  server->Shutdown();
  EXPECT_EQ(find(query_of("hello"), reply).error_code(), StatusCode::UNAVAILABLE);
}

class counting final : public grpc::experimental::Interceptor {
 public:
  explicit counting(std::atomic<int>& batches) : batches_(batches) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    ++batches_;
    methods->Proceed();
  }

 private:
  std::atomic<int>& batches_;
};
struct counting_factory final : grpc::experimental::ClientInterceptorFactoryInterface {
  explicit counting_factory(std::atomic<int>& to) : batches(to) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo*) override {
    return new counting(batches);
  }
  std::atomic<int>& batches;
};

TEST_F(GrpcppInProcess, TheChannelMayHaveInterceptors) {
  start();
  std::atomic<int> batches{0};
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<counting_factory>(batches));
  stub = CallKinds::NewStub(server->experimental().InProcessChannelWithInterceptors(grpc::ChannelArguments(),
                                                                                    std::move(factories)));
  Reply reply;
  EXPECT_TRUE(find(query_of("hello"), reply).ok());
  EXPECT_EQ(batches, 2);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto call = stub->AsyncUnary(&context, query_of("hello"), &queue);
  grpc::Status outcome;
  call->Finish(&reply, &outcome, &outcome);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_TRUE(ok);
  EXPECT_TRUE(outcome.ok()) << outcome.error_message();
  EXPECT_EQ(batches, 4);
}

struct suffix_factory final : grpc::experimental::ClientInterceptorFactoryInterface {
  suffix_factory(std::string& to, std::atomic<int>& all) : seen(to), batches(all) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo* info) override {
    seen = info->suffix_for_stats() ? info->suffix_for_stats() : "none";
    return new counting(batches);
  }
  std::string& seen;
  std::atomic<int>& batches;
};

TEST_F(GrpcppInProcess, InterceptorsSeeTheSuffixOfAGenericCall) {
  start();
  std::string seen;
  std::atomic<int> batches{0};
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<suffix_factory>(seen, batches));
  grpc::GenericStub generic(server->experimental().InProcessChannelWithInterceptors(grpc::ChannelArguments(),
                                                                                    std::move(factories)));
  const grpc::ByteBuffer request;
  for (const auto& options : {grpc::StubOptions("mine"), grpc::StubOptions()}) {
    grpc::ClientContext context;
    grpc::ByteBuffer reply;
    std::promise<grpc::Status> done;
    generic.UnaryCall(&context, "/call_kinds.CallKinds/Unary", options, &request, &reply,
                      [&](grpc::Status s) { done.set_value(std::move(s)); });
    EXPECT_TRUE(done.get_future().get().ok());
    EXPECT_EQ(seen, options.suffix_for_stats() ? "mine" : "none");
  }
}

// --- values and test peers

TEST(GrpcppValues, DetailsOfAStatusAreAMessage) {
  // Any message with a code and a message has the form of google.rpc.Status.
  struct failure {
    [[nodiscard]] int code() const { return number; }
    [[nodiscard]] std::string message() const { return "no reply"; }
    [[nodiscard]] std::string SerializeAsString() const { return query_of("details").SerializeAsString(); }
    int number;
  };
  grpc::Status status;
  EXPECT_TRUE(grpc::SetErrorDetails(failure{5}, &status).ok());
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no reply");
  call_kinds::Query query;
  EXPECT_TRUE(grpc::ExtractErrorDetails(status, &query).ok());
  EXPECT_EQ(query.ask(), "details");
  EXPECT_TRUE(grpc::SetErrorDetails(failure{99}, &status).ok());
  EXPECT_EQ(status.error_code(), StatusCode::UNKNOWN);
  EXPECT_EQ(grpc::SetErrorDetails(failure{5}, nullptr).error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(grpc::ExtractErrorDetails(status, nullptr).error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(grpc::ExtractErrorDetails(grpc::Status(StatusCode::ABORTED, "", "\xff"), &query).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST(GrpcppValues, AServiceConfigIsValidated) {
  EXPECT_EQ(grpc::experimental::ValidateServiceConfigJSON("{}"), "");
  EXPECT_NE(grpc::experimental::ValidateServiceConfigJSON("{"), "");
}

TEST(GrpcppValues, TestsGiveContextsTheirMetadata) {
  grpc::ServerContext of_server;
  grpc::testing::ServerContextTestSpouse spouse(&of_server);
  spouse.AddClientMetadata("k", "1");
  EXPECT_EQ(of_server.client_metadata().size(), 1u);
  spouse.AddClientMetadata("k", "2");
  EXPECT_EQ(of_server.client_metadata().count("k"), 2u);
  of_server.AddInitialMetadata("i", "1");
  of_server.AddTrailingMetadata("t", "2");
  EXPECT_EQ(spouse.GetInitialMetadata().count("i"), 1u);
  EXPECT_EQ(spouse.GetTrailingMetadata().count("t"), 1u);
  grpc::ClientContext of_client;
  grpc::testing::ClientContextTestPeer peer(&of_client);
  peer.AddServerInitialMetadata("s", "1");
  EXPECT_EQ(of_client.GetServerInitialMetadata().count("s"), 1u);
  of_client.AddMetadata("c", "1");
  EXPECT_EQ(peer.GetSendInitialMetadata().count("c"), 1u);
}

TEST(GrpcppValues, StreamsAreMocked) {
  grpc::testing::MockClientReader<Reply> reader;
  Reply seven;
  seven.set_number(7);
  EXPECT_CALL(reader, Read(::testing::_))
      .WillOnce(::testing::DoAll(::testing::SetArgPointee<0>(seven), ::testing::Return(true)))
      .WillOnce(::testing::Return(false));
  Reply reply;
  EXPECT_TRUE(reader.Read(&reply));
  EXPECT_EQ(reply.number(), 7);
  EXPECT_FALSE(reader.Read(&reply));
  grpc::testing::MockServerWriter<Reply> writer;
  EXPECT_CALL(writer, Write(::testing::_, ::testing::_)).WillOnce(::testing::Return(true));
  EXPECT_TRUE(writer.Write(reply, grpc::WriteOptions()));
}

// --- TLS

using grpc::experimental::FileWatcherCertificateProvider;
using grpc::experimental::IdentityKeyCertPair;
using grpc::experimental::StaticDataCertificateProvider;
using grpc::experimental::TlsChannelCredentialsOptions;
using grpc::experimental::TlsServerCredentialsOptions;

class name_verifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  explicit name_verifier(std::string name) : name_(std::move(name)) {}
  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)>, grpc::Status* sync_status) override {
    bool found = false;
    for (const grpc::string_ref name : request->dns_names()) found = found || name == name_;
    *sync_status = found ? grpc::Status() : grpc::Status(StatusCode::PERMISSION_DENIED, "another name");
    return true;
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::string name_;
};

std::shared_ptr<grpc::ServerCredentials> served(bool from_files,
                                                grpc_ssl_client_certificate_request_type type) {
  const auto& made = certificates::made();
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider;
  if (from_files) {
    provider = std::make_shared<FileWatcherCertificateProvider>(
        made.path("server.key"), made.path("server.pem"), made.path("ca.pem"), 1);
  } else {
    provider = std::make_shared<StaticDataCertificateProvider>(
        made.text("ca.pem"),
        std::vector<IdentityKeyCertPair>{{made.text("server.key"), made.text("server.pem")}});
  }
  TlsServerCredentialsOptions options(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(type);
  return grpc::experimental::TlsServerCredentials(options);
}

TlsChannelCredentialsOptions trusting_client() {
  const auto& made = certificates::made();
  TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<StaticDataCertificateProvider>(
      made.text("ca.pem"),
      std::vector<IdentityKeyCertPair>{{made.text("client.key"), made.text("client.pem")}}));
  options.watch_root_certs();
  return options;
}

class GrpcppTls : public call_kinds_fixture<>, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(From, GrpcppTls, ::testing::Bool());

TEST_P(GrpcppTls, ProvidersGiveTheCertificates) {
  auto options = trusting_client();
  const auto nothing = [](grpc::ServerBuilder&) {};
  start(nothing, served(GetParam(), GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY),
        grpc::experimental::TlsCredentials(options));
  Reply reply;
  EXPECT_EQ(find(query_of("identity"), reply).error_code(), StatusCode::UNAVAILABLE);
  options.watch_identity_key_cert_pairs();
  connect(grpc::experimental::TlsCredentials(options));
  EXPECT_TRUE(find(query_of("identity"), reply).ok());
  EXPECT_EQ(reply.number(), 1);
}

TEST_P(GrpcppTls, AVerifierOfTheProgramDecides) {
  using grpc::experimental::ExternalCertificateVerifier;
  auto options = trusting_client();
  options.set_certificate_verifier(ExternalCertificateVerifier::Create<name_verifier>("movies.example"));
  const auto nothing = [](grpc::ServerBuilder&) {};
  start(nothing, served(GetParam(), GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE),
        grpc::experimental::TlsCredentials(options));
  Reply reply;
  EXPECT_TRUE(find(query_of("x"), reply).ok());
  options.set_certificate_verifier(ExternalCertificateVerifier::Create<name_verifier>("other.example"));
  connect(grpc::experimental::TlsCredentials(options));
  const auto s = find(query_of("x"), reply);
  EXPECT_EQ(s.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(s.error_message(), HasSubstr("another name"));
  TlsChannelCredentialsOptions blind;
  blind.set_verify_server_certs(false);
  connect(grpc::experimental::TlsCredentials(blind));
  EXPECT_TRUE(find(query_of("x"), reply).ok());
}

TEST_P(GrpcppTls, AnAuthorityOfACallMustBeInTheCertificate) {
  auto options = trusting_client();
  const auto nothing = [](grpc::ServerBuilder&) {};
  start(nothing, served(GetParam(), GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE),
        grpc::experimental::TlsCredentials(options));
  const auto asked_for = [this](const char* authority) {
    Reply reply;
    return find(query_of("x"), reply, [&](grpc::ClientContext& c) { c.set_authority(authority); })
        .error_code();
  };
  EXPECT_EQ(asked_for("movies.example"), StatusCode::OK);
  EXPECT_EQ(asked_for("other.example"), StatusCode::UNAVAILABLE);
  options.set_check_call_host(false);
  connect(grpc::experimental::TlsCredentials(options));
  EXPECT_EQ(asked_for("other.example"), StatusCode::OK);
}

TEST_P(GrpcppTls, CrlsOfProvidersRevokeCertificates) {
  using grpc::experimental::CreateDirectoryReloaderCrlProvider;
  using grpc::experimental::CreateStaticCrlProvider;
  auto options = trusting_client();
  const auto provider = CreateStaticCrlProvider({revocations("ca").revoke("server").pem()});
  ASSERT_TRUE(provider.ok());
  options.set_crl_provider(*provider);
  const auto nothing = [](grpc::ServerBuilder&) {};
  start(nothing, served(GetParam(), GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE),
        grpc::experimental::TlsCredentials(options));
  Reply reply;
  const auto s = find(query_of("x"), reply);
  EXPECT_EQ(s.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(s.error_message(), HasSubstr("a CRL of its issuer lists it as revoked"));

  const std::string folder = certificates::made().path("grpcpp_crls");
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/ca") << revocations("ca").pem();
  options.set_crl_directory(folder);
  connect(grpc::experimental::TlsCredentials(options));
  EXPECT_TRUE(find(query_of("x"), reply).ok());
  std::filesystem::remove(folder + "/ca");
  const auto of_directory = CreateDirectoryReloaderCrlProvider(folder, std::chrono::hours(1), nullptr, true);
  ASSERT_TRUE(of_directory.ok());
  EXPECT_TRUE((*of_directory)->DenyUndetermined());
  options.set_crl_provider(*of_directory);
  connect(grpc::experimental::TlsCredentials(options));
  EXPECT_THAT(find(query_of("x"), reply).error_message(), HasSubstr("no CRL of its issuer"));
  std::filesystem::remove_all(folder);

  const auto hasty = CreateDirectoryReloaderCrlProvider(folder, std::chrono::seconds(59), nullptr);
  EXPECT_EQ(hasty.status().ToString(), "INVALID_ARGUMENT: Refresh duration minimum is 60 seconds");
  EXPECT_FALSE(CreateStaticCrlProvider({}).ok());
}

// As absl::Status and absl::StatusOr are made and read.
namespace other {
enum class StatusCode { kOk = 0, kInvalidArgument = 3 };
class Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string_view text) : code_(code), text_(text) {}
  [[nodiscard]] StatusCode code() const { return code_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string text_;
};
template <class T>
class StatusOr {
 public:
  StatusOr(const Status& why) : why_(why) {}         // NOLINT(google-explicit-constructor)
  StatusOr(T made) : made_(std::move(made)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const Status& status() const { return why_; }
  const T& operator*() const { return made_; }

 private:
  Status why_;
  T made_{};
};
}  // namespace other

TEST(GrpcppCrlProvider, IsWhatAbseilsClassesTake) {
  using provider = std::shared_ptr<grpc_core::experimental::CrlProvider>;
  using grpc_core::experimental::CreateDirectoryReloaderCrlProvider;
  std::string told;
  const std::function<void(other::Status)> tell = [&told](const other::Status& s) { told = s.text(); };
  const other::StatusOr<provider> made =
      CreateDirectoryReloaderCrlProvider("/x", std::chrono::hours(1), tell);
  ASSERT_NE(*made, nullptr);
  (*made)->from().on_error(grpc::internal::provider_status("a problem"));
  EXPECT_EQ(told, "a problem");
  const other::StatusOr<provider> not_made =
      CreateDirectoryReloaderCrlProvider("/x", std::chrono::seconds(1), tell);
  EXPECT_EQ(not_made.status().code(), other::StatusCode::kInvalidArgument);
}

// --- callbacks of the process

struct noting_callbacks final : grpc::Server::GlobalCallbacks {
  void UpdateArguments(grpc::ChannelArguments*) override { ++arguments; }
  void PreSynchronousRequest(grpc::ServerContext* context) override { before += context != nullptr; }
  void PostSynchronousRequest(grpc::ServerContext*) override { ++after; }
  void PreServerStart(grpc::Server*) override { ++starts; }
  void AddPort(grpc::Server*, const std::string&, grpc::ServerCredentials*, int port) override {
    last_port = port;
  }
  std::atomic<int> arguments{0};
  std::atomic<int> before{0};
  std::atomic<int> after{0};
  std::atomic<int> starts{0};
  std::atomic<int> last_port{0};
};

class GrpcppCallbacksOfTheProcess : public call_kinds_fixture<> {};

TEST_F(GrpcppCallbacksOfTheProcess, SeeServersAndTheirSynchronousCalls) {
  noting_callbacks seen;
  grpc::Server::SetGlobalCallbacks(&seen);
  start();
  Reply reply;
  EXPECT_TRUE(find(query_of("x"), reply).ok());
  server->Shutdown();
  grpc::Server::SetGlobalCallbacks(nullptr);
  EXPECT_EQ(seen.arguments, 1);
  EXPECT_EQ(seen.starts, 1);
  EXPECT_EQ(seen.last_port, port);
  EXPECT_EQ(seen.before, 1);
  EXPECT_EQ(seen.after, 1);
}

}  // namespace
}  // namespace coracle::testing_support::extensions_test
