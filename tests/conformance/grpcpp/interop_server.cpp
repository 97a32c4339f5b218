// The server of gRPC's interop cases, on grpc++'s synchronous API:
//
//   grpcpp_interop_server --port=N [--use_tls=true --tls_cert_file=FILE --tls_key_file=FILE]
#include "grpc/testing/test.grpc.pb.h"
#include "interop.hpp"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <thread>

namespace interop {
namespace {

namespace pb = grpc::testing;
using grpc::Status;
using grpc::StatusCode;

constexpr int payload_bytes_max = 64 << 20;

void echo_metadata(grpc::ServerContext& context) {
  const auto& sent = context.client_metadata();
  const auto text = [](const grpc::string_ref& value) { return std::string(value.data(), value.size()); };
  if (const auto found = sent.find(initial_key); found != sent.end())
    context.AddInitialMetadata(initial_key, text(found->second));
  if (const auto found = sent.find(trailing_key); found != sent.end())
    context.AddTrailingMetadata(trailing_key, text(found->second));
}

Status status_of(const pb::EchoStatus& wanted) {
  return {static_cast<StatusCode>(wanted.code()), wanted.message()};
}

// False if there can be no such payload.
bool fill(pb::Payload& payload, int size) {
  if (size < 0 || size > payload_bytes_max) return false;
  payload.mutable_body()->assign(static_cast<std::size_t>(size), '\0');
  return true;
}
const Status no_such_payload(StatusCode::INVALID_ARGUMENT, "a payload has 0 to 64 MiB");

class test_service final : public pb::TestService::Service {
  Status EmptyCall(grpc::ServerContext* context, const pb::Empty*, pb::Empty*) override {
    echo_metadata(*context);
    return Status::OK;
  }

  Status UnaryCall(grpc::ServerContext* context, const pb::SimpleRequest* request,
                   pb::SimpleResponse* response) override {
    echo_metadata(*context);
    if (request->response_status().code() != 0) return status_of(request->response_status());
    return fill(*response->mutable_payload(), request->response_size()) ? Status::OK : no_such_payload;
  }

  Status StreamingOutputCall(grpc::ServerContext* context, const pb::StreamingOutputCallRequest* request,
                             grpc::ServerWriter<pb::StreamingOutputCallResponse>* responses) override {
    echo_metadata(*context);
    return answer(*request, *responses);
  }

  Status StreamingInputCall(grpc::ServerContext*, grpc::ServerReader<pb::StreamingInputCallRequest>* requests,
                            pb::StreamingInputCallResponse* response) override {
    pb::StreamingInputCallRequest request;
    int sum = 0;
    while (requests->Read(&request)) sum += static_cast<int>(request.payload().body().size());
    response->set_aggregated_payload_size(sum);
    return Status::OK;
  }

  Status FullDuplexCall(grpc::ServerContext* context,
                        grpc::ServerReaderWriter<pb::StreamingOutputCallResponse,
                                                 pb::StreamingOutputCallRequest>* stream) override {
    echo_metadata(*context);
    pb::StreamingOutputCallRequest request;
    while (stream->Read(&request)) {
      if (request.response_status().code() != 0) return status_of(request.response_status());
      if (Status s = answer(request, *stream); !s.ok()) return s;
    }
    return Status::OK;
  }

  template <class Writer>
  static Status answer(const pb::StreamingOutputCallRequest& request, Writer& to) {
    pb::StreamingOutputCallResponse response;
    for (const auto& wanted : request.response_parameters()) {
      const std::chrono::microseconds interval(wanted.interval_us());
      if (interval.count() > 0) std::this_thread::sleep_for(interval);  // sleeps on purpose: on request
      if (!fill(*response.mutable_payload(), wanted.size())) return no_such_payload;
      if (!to.Write(response)) return Status::CANCELLED;
    }
    return Status::OK;
  }
};

int serve(const std::map<std::string, std::string>& options) {
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (options.count("use_tls")) {
    grpc::SslServerCredentialsOptions tls;
    tls.pem_key_cert_pairs.push_back(
        {content_of(options.at("tls_key_file")), content_of(options.at("tls_cert_file"))});
    credentials = grpc::SslServerCredentials(tls);
  }
  test_service service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:" + options.at("port"), credentials, &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  std::printf("listening on 127.0.0.1:%d\n", port);
  std::fflush(stdout);
  server->Wait();
  return 0;
}

}  // namespace
}  // namespace interop

int main(int argc, char** argv) { return interop::serve(interop::options_of(argc, argv)); }
