// The interop cases of gRPC, on grpc++'s synchronous API:
//
//   grpcpp_interop_client --server_port=N --test_case=NAME
//     [--use_tls=true --ca_file=FILE --server_host_override=NAME]
#include "grpc/testing/test.grpc.pb.h"
#include "interop.hpp"

#include <grpcpp/grpcpp.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>

namespace interop {
namespace {

namespace pb = grpc::testing;
using grpc::Status;
using grpc::StatusCode;
using stub = pb::TestService::Stub;

constexpr std::array request_sizes{27182, 8, 1828, 45904};
constexpr std::array response_sizes{31415, 9, 2653, 58979};
constexpr int large_request = 271828;
constexpr int large_response = 314159;
constexpr auto patience = std::chrono::seconds(20);

void require(bool fulfilled, const std::string& otherwise) {
  if (!fulfilled) throw std::runtime_error(otherwise);
}
void require_status(const Status& found, StatusCode code, const std::string& message = {}) {
  require(found.error_code() == code && (message.empty() || found.error_message() == message),
          "the status is " + std::to_string(found.error_code()) + " '" + found.error_message() + "'");
}
void require_size(const pb::Payload& payload, int bytes) {
  require(payload.body() == std::string(static_cast<std::size_t>(bytes), '\0'),
          "a payload is not " + std::to_string(bytes) + " zeros");
}

struct limited_context : grpc::ClientContext {
  limited_context() { set_deadline(std::chrono::system_clock::now() + patience); }
};

pb::SimpleRequest simple_request() {
  pb::SimpleRequest request;
  request.set_response_size(large_response);
  request.mutable_payload()->mutable_body()->assign(large_request, '\0');
  return request;
}

pb::StreamingOutputCallRequest duplex_request(int bytes, int wanted) {
  pb::StreamingOutputCallRequest request;
  request.add_response_parameters()->set_size(wanted);
  request.mutable_payload()->mutable_body()->assign(static_cast<std::size_t>(bytes), '\0');
  return request;
}

void empty_unary(stub& to) {
  limited_context context;
  pb::Empty reply;
  require_status(to.EmptyCall(&context, pb::Empty(), &reply), StatusCode::OK);
  require(reply.ByteSizeLong() == 0, "the reply is not empty");
}

void large_unary(stub& to) {
  limited_context context;
  pb::SimpleResponse reply;
  require_status(to.UnaryCall(&context, simple_request(), &reply), StatusCode::OK);
  require_size(reply.payload(), large_response);
}

void client_streaming(stub& to) {
  limited_context context;
  pb::StreamingInputCallResponse reply;
  const auto call = to.StreamingInputCall(&context, &reply);
  for (const int size : request_sizes) {
    pb::StreamingInputCallRequest request;
    request.mutable_payload()->mutable_body()->assign(static_cast<std::size_t>(size), '\0');
    require(call->Write(request), "a message was not written");
  }
  require(call->WritesDone(), "the stream was not half-closed");
  require_status(call->Finish(), StatusCode::OK);
  require(reply.aggregated_payload_size() == 74922, "the sum of the sizes is wrong");
}

void server_streaming(stub& to) {
  limited_context context;
  pb::StreamingOutputCallRequest request;
  for (const int size : response_sizes) request.add_response_parameters()->set_size(size);
  const auto call = to.StreamingOutputCall(&context, request);
  pb::StreamingOutputCallResponse response;
  std::size_t count = 0;
  while (call->Read(&response)) {
    require(count < response_sizes.size(), "more responses came than were asked for");
    require_size(response.payload(), response_sizes[count++]);
  }
  require(count == response_sizes.size(), "responses are missing");
  require_status(call->Finish(), StatusCode::OK);
}

void ping_pong(stub& to) {
  limited_context context;
  const auto call = to.FullDuplexCall(&context);
  pb::StreamingOutputCallResponse response;
  for (std::size_t i = 0; i < request_sizes.size(); ++i) {
    require(call->Write(duplex_request(request_sizes[i], response_sizes[i])), "a message was not written");
    require(call->Read(&response), "a response is missing");
    require_size(response.payload(), response_sizes[i]);
  }
  call->WritesDone();
  require(!call->Read(&response), "a response came that nobody asked for");
  require_status(call->Finish(), StatusCode::OK);
}

void empty_stream(stub& to) {
  limited_context context;
  const auto call = to.FullDuplexCall(&context);
  call->WritesDone();
  pb::StreamingOutputCallResponse response;
  require(!call->Read(&response), "a response came to no request");
  require_status(call->Finish(), StatusCode::OK);
}

void timeout_on_sleeping_server(stub& to) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(1));
  const auto call = to.FullDuplexCall(&context);
  call->Write(duplex_request(27182, 0));  // the deadline may have passed already
  pb::StreamingOutputCallResponse response;
  while (call->Read(&response)) continue;
  require_status(call->Finish(), StatusCode::DEADLINE_EXCEEDED);
}

void cancel_after_begin(stub& to) {
  limited_context context;
  pb::StreamingInputCallResponse reply;
  const auto call = to.StreamingInputCall(&context, &reply);
  context.TryCancel();
  require_status(call->Finish(), StatusCode::CANCELLED);
}

void cancel_after_first_response(stub& to) {
  limited_context context;
  const auto call = to.FullDuplexCall(&context);
  require(call->Write(duplex_request(request_sizes[0], response_sizes[0])), "a message was not written");
  pb::StreamingOutputCallResponse response;
  require(call->Read(&response), "no response came");
  require_size(response.payload(), response_sizes[0]);
  context.TryCancel();
  while (call->Read(&response)) continue;
  require_status(call->Finish(), StatusCode::CANCELLED);
}

void unary_status_comes_back(stub& to, const std::string& message) {
  limited_context context;
  pb::SimpleRequest request;
  request.mutable_response_status()->set_code(StatusCode::UNKNOWN);
  request.mutable_response_status()->set_message(message);
  pb::SimpleResponse reply;
  require_status(to.UnaryCall(&context, request, &reply), StatusCode::UNKNOWN, message);
}

void status_code_and_message(stub& to) {
  const std::string message = "test status message";
  unary_status_comes_back(to, message);
  limited_context context;
  const auto call = to.FullDuplexCall(&context);
  pb::StreamingOutputCallRequest request;
  request.mutable_response_status()->set_code(StatusCode::UNKNOWN);
  request.mutable_response_status()->set_message(message);
  require(call->Write(request), "a message was not written");
  call->WritesDone();
  pb::StreamingOutputCallResponse response;
  require(!call->Read(&response), "a response came");
  require_status(call->Finish(), StatusCode::UNKNOWN, message);
}

void special_status_message(stub& to) {
  unary_status_comes_back(to,
                          "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n");
}

constexpr const char* initial_value = "test_initial_metadata_value";
constexpr const char* trailing_value = "\xab\xab\xab";

void add_metadata(grpc::ClientContext& context) {
  context.AddMetadata(initial_key, initial_value);
  context.AddMetadata(trailing_key, trailing_value);
}
void require_metadata(const grpc::ClientContext& context) {
  const auto holds = [](const auto& pairs, const char* key, const char* value) {
    const auto found = pairs.find(key);
    return found != pairs.end() && found->second == value;
  };
  require(holds(context.GetServerInitialMetadata(), initial_key, initial_value),
          "the initial metadata did not come back");
  require(holds(context.GetServerTrailingMetadata(), trailing_key, trailing_value),
          "the trailing metadata did not come back");
}

void custom_metadata(stub& to) {
  limited_context unary;
  add_metadata(unary);
  pb::SimpleResponse reply;
  require_status(to.UnaryCall(&unary, simple_request(), &reply), StatusCode::OK);
  require_size(reply.payload(), large_response);
  require_metadata(unary);

  limited_context duplex;
  add_metadata(duplex);
  const auto call = to.FullDuplexCall(&duplex);
  require(call->Write(duplex_request(large_request, large_response)), "a message was not written");
  call->WritesDone();
  pb::StreamingOutputCallResponse response;
  require(call->Read(&response), "no response came");
  require_size(response.payload(), large_response);
  require(!call->Read(&response), "a response came that nobody asked for");
  require_status(call->Finish(), StatusCode::OK);
  require_metadata(duplex);
}

void unimplemented_method(stub& to) {
  limited_context context;
  pb::Empty reply;
  require_status(to.UnimplementedCall(&context, pb::Empty(), &reply), StatusCode::UNIMPLEMENTED);
}

// A large unary call, many times, on one channel or on a new one for each.
constexpr int soak_iterations = 10;
void soak(const std::function<std::shared_ptr<grpc::Channel>()>& make_channel, bool channel_each) {
  std::shared_ptr<grpc::Channel> channel = make_channel();
  for (int i = 0; i != soak_iterations; ++i) {
    if (channel_each && i != 0) channel = make_channel();
    large_unary(*pb::TestService::NewStub(channel));
  }
}

const std::map<std::string, std::function<void(stub&)>> cases{
    {"empty_unary", empty_unary},
    {"large_unary", large_unary},
    {"client_streaming", client_streaming},
    {"server_streaming", server_streaming},
    {"ping_pong", ping_pong},
    {"empty_stream", empty_stream},
    {"timeout_on_sleeping_server", timeout_on_sleeping_server},
    {"cancel_after_begin", cancel_after_begin},
    {"cancel_after_first_response", cancel_after_first_response},
    {"status_code_and_message", status_code_and_message},
    {"special_status_message", special_status_message},
    {"custom_metadata", custom_metadata},
    {"unimplemented_method", unimplemented_method},
};

int run(const std::map<std::string, std::string>& options) {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  grpc::ChannelArguments arguments;
  if (options.count("use_tls")) {
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = content_of(options.at("ca_file"));
    credentials = grpc::SslCredentials(tls);
    arguments.SetSslTargetNameOverride(options.at("server_host_override"));
  }
  const auto make_channel = [&] {
    return grpc::CreateCustomChannel("127.0.0.1:" + options.at("server_port"), credentials, arguments);
  };
  const std::string& name = options.at("test_case");
  if (name == "rpc_soak" || name == "channel_soak") {
    soak(make_channel, name == "channel_soak");
    return 0;
  }
  const auto channel = make_channel();
  if (name == "unimplemented_service") {
    limited_context context;
    pb::Empty reply;
    require_status(
        pb::UnimplementedService::NewStub(channel)->UnimplementedCall(&context, pb::Empty(), &reply),
        StatusCode::UNIMPLEMENTED);
    return 0;
  }
  const auto found = cases.find(name);
  require(found != cases.end(), "there is no case " + name);
  found->second(*pb::TestService::NewStub(channel));
  return 0;
}

}  // namespace
}  // namespace interop

int main(int argc, char** argv) {
  const auto options = interop::options_of(argc, argv);
  try {
    return interop::run(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
