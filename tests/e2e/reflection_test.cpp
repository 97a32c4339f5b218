#include "catalog/catalog.coracle.hpp"
#include "catalog/small.coracle.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/services/defaults.hpp"
#include "coracle/services/reflection_service.hpp"
#include "grpc/reflection/v1/reflection.coracle.hpp"
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#include <google/protobuf/descriptor.pb.h>

#include <optional>
#include <string>
#include <vector>

namespace coracle::testing_support::reflection_test {
namespace {

using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using conversation = bidi_call<ServerReflectionRequest, ServerReflectionResponse>;
using names = std::vector<std::string>;

constexpr const char* v1 = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
constexpr const char* v1alpha = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

class reflection : public every_backend {
 protected:
  void SetUp() override {
    every_backend::SetUp();
    if (IsSkipped()) return;
    server_.emplace(rt());
    server_->add(echo_);
    server_->add(catalog_);
    server_->add(small_);
    with_defaults(*server_);
    channel_.emplace(rt(), server_->in_process());
  }
  void TearDown() override {
    channel_.reset();
    server_.reset();
  }
  [[nodiscard]] conversation talk(const char* path = v1) { return {*channel_, path, {}}; }
  static ServerReflectionResponse ask(conversation& c, const ServerReflectionRequest& question) {
    sync_wait(c.write(question)).throw_if_error();
    auto answer = sync_wait(c.next()).value();
    if (!answer) throw std::runtime_error("the call has ended");
    EXPECT_EQ(answer->original_request().SerializeAsString(), question.SerializeAsString());
    return *std::move(answer);
  }
  static ServerReflectionRequest by_name(const std::string& file) {
    ServerReflectionRequest r;
    r.set_file_by_filename(file);
    return r;
  }
  static ServerReflectionRequest by_symbol(const std::string& symbol) {
    ServerReflectionRequest r;
    r.set_file_containing_symbol(symbol);
    return r;
  }
  // The names of the files in an answer.
  static names files(const ServerReflectionResponse& answer) {
    names found;
    for (const auto& bytes : answer.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(bytes));
      found.push_back(file.name());
    }
    return found;
  }
  names files(const ServerReflectionRequest& question) {
    conversation c = talk();
    return files(ask(c, question));
  }
  status_code code(const ServerReflectionRequest& question) {
    conversation c = talk();
    return static_cast<status_code>(ask(c, question).error_response().error_code());
  }

  echo_service echo_;
  catalog::rpc::Catalog::service catalog_;
  catalog::rpc::SmallCatalog::service small_;
  std::optional<server> server_;
  std::optional<channel> channel_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, reflection, ::testing::Values(world_kind::io_uring, world_kind::epoll),
                         every_backend::case_name);

// A service whose messages are of LITE_RUNTIME is not listed: the program has no description of it.
TEST_P(reflection, EveryDescribedServiceIsListedInBothVersions) {
  ServerReflectionRequest question;
  question.set_list_services("");
  for (const char* path : {v1, v1alpha}) {
    conversation c = talk(path);
    names found;
    const auto answer = ask(c, question);
    for (const auto& one : answer.list_services_response().service()) found.push_back(one.name());
    for (const char* expected :
         {"catalog.Catalog", "echo.Echo", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
          "grpc.reflection.v1alpha.ServerReflection"})
      EXPECT_EQ(std::count(found.begin(), found.end(), expected), 1) << expected;
    EXPECT_EQ(std::count(found.begin(), found.end(), "catalog.SmallCatalog"), 0);
  }
}

TEST_P(reflection, AFileComesFirstAndThenWhatItImportsEachOnce) {
  EXPECT_EQ(files(by_name("catalog/catalog.proto")),
            (names{"catalog/catalog.proto", "catalog/part.proto", "catalog/price.proto"}));
  EXPECT_EQ(files(by_name("catalog/part.proto")), names{"catalog/part.proto"});
}

TEST_P(reflection, WhatACallHasSentIsNotSentAgainButWhenAskedFor) {
  conversation c = talk();
  EXPECT_EQ(files(ask(c, by_name("catalog/price.proto"))),
            (names{"catalog/price.proto", "catalog/part.proto"}));
  EXPECT_EQ(files(ask(c, by_name("catalog/catalog.proto"))), names{"catalog/catalog.proto"});
  EXPECT_EQ(files(ask(c, by_name("catalog/part.proto"))), names{"catalog/part.proto"});
}

TEST_P(reflection, ASymbolOfAnyKindLeadsToItsFile) {
  for (const char* symbol : {"echo.Echo", "echo.Echo.Say", "echo.Text", "echo.Text.count"})
    EXPECT_EQ(files(by_symbol(symbol)), names{"echo.proto"}) << symbol;
  for (const char* symbol :
       {"catalog.Part.Size", "catalog.Part.Size.width_mm", "catalog.Part.Colour", "catalog.Part.BLUE"})
    EXPECT_EQ(files(by_symbol(symbol)), names{"catalog/part.proto"}) << symbol;
  EXPECT_EQ(files(by_symbol("catalog.currency")).front(), "catalog/price.proto");
}

TEST_P(reflection, ExtensionsAreFoundByNumberAndInOrder) {
  ServerReflectionRequest question;
  question.mutable_file_containing_extension()->set_containing_type("catalog.Part");
  question.mutable_file_containing_extension()->set_extension_number(110);
  EXPECT_EQ(files(question).front(), "catalog/price.proto");
  question.mutable_file_containing_extension()->set_extension_number(111);
  EXPECT_EQ(code(question), status_code::not_found);

  question.set_all_extension_numbers_of_type("catalog.Part");
  conversation c = talk();
  const auto answer = ask(c, question).all_extension_numbers_response();
  EXPECT_EQ(answer.base_type_name(), "catalog.Part");
  EXPECT_EQ(std::vector<int>(answer.extension_number().begin(), answer.extension_number().end()),
            (std::vector<int>{105, 110}));
  question.set_all_extension_numbers_of_type("catalog.Nothing");
  EXPECT_EQ(code(question), status_code::not_found);
}

TEST_P(reflection, ServicesOfTheLibraryItselfAreDescribedAsOthersKnowThem) {
  EXPECT_EQ(files(by_symbol("grpc.health.v1.Health")), names{"grpc/health/v1/health.proto"});
  EXPECT_EQ(files(by_symbol("grpc.reflection.v1alpha.ServerReflection")),
            names{"grpc/reflection/v1alpha/reflection.proto"});
  EXPECT_EQ(files(by_symbol("grpc.channelz.v1.Channelz")).front(), "grpc/channelz/v1/channelz.proto");
}

TEST_P(reflection, WhatIsUnknownGetsAnErrorAndTheCallGoesOn) {
  conversation c = talk();
  const auto answer = ask(c, by_name("nowhere.proto"));
  EXPECT_EQ(answer.error_response().error_code(), static_cast<int>(status_code::not_found));
  EXPECT_EQ(answer.error_response().error_message(), "no descriptor for nowhere.proto");
  EXPECT_EQ(code(by_symbol("catalog.SmallCatalog")), status_code::not_found);  // lite: listed, not described
  EXPECT_EQ(code(by_symbol("")), status_code::not_found);
  EXPECT_EQ(code({}), status_code::invalid_argument);
  EXPECT_EQ(files(ask(c, by_name("echo.proto"))), names{"echo.proto"});
  EXPECT_EQ(sync_wait(c.finish()), status());
}

TEST_P(reflection, FilesOfADescriptorSetHaveTheirComments) {
  google::protobuf::FileDescriptorSet set;
  auto& file = *set.add_file();
  echo::Text::descriptor()->file()->CopyTo(&file);
  auto& where = *file.mutable_source_code_info()->add_location();
  where.add_path(6);  // the first service
  where.add_path(0);
  for (const int n : {0, 0, 0}) where.add_span(n);
  where.set_leading_comments(" Comes back.\n");
  reflection_service described(set.SerializeAsString());
  server other(rt());
  other.add(echo_);
  other.add(described);
  {
    const channel to(rt(), other.in_process());
    conversation c{to, v1, {}};
    const auto answer = ask(c, by_symbol("echo.Echo.Say"));
    google::protobuf::FileDescriptorProto got;
    ASSERT_EQ(answer.file_descriptor_response().file_descriptor_proto_size(), 1);
    ASSERT_TRUE(got.ParseFromString(answer.file_descriptor_response().file_descriptor_proto(0)));
    ASSERT_EQ(got.source_code_info().location_size(), 1);
    EXPECT_EQ(got.source_code_info().location(0).leading_comments(), " Comes back.\n");
    EXPECT_EQ(files(ask(c, by_symbol("catalog.Part"))), names{"catalog/part.proto"})
        << "of the generated code";
    EXPECT_EQ(sync_wait(c.finish()).code(), status_code::ok);
  }
}

TEST(reflection_service, RejectsADescriptorSetWithoutItsImports) {
  EXPECT_THROW(reflection_service("echo.proto"), usage_error);
  google::protobuf::FileDescriptorSet set;
  catalog::Part::descriptor()->file()->CopyTo(set.add_file());
  set.mutable_file(0)->add_dependency("elsewhere.proto");
  EXPECT_THROW(reflection_service(set.SerializeAsString()), usage_error);
}

}  // namespace
}  // namespace coracle::testing_support::reflection_test
