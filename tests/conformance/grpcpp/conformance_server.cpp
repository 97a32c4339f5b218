// grpcpp_conformance_server: the server that connectrpc's conformance suite starts, on grpc++'s callback API.
#include "connectrpc/conformance/v1/server_compat.pb.h"
#include "connectrpc/conformance/v1/service.grpc.pb.h"
#include "connectrpc/framed_message.hpp"
#include "connectrpc/header_fields.hpp"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>

namespace conformance {
namespace {

namespace pb = connectrpc::conformance::v1;
using grpc::CallbackServerContext;
using grpc::Status;
using request_info = pb::ConformancePayload::RequestInfo;

// The properties of the call: metadata and the remaining time.
request_info info_of(const CallbackServerContext& context) {
  request_info info;
  for (const auto& [name, value] : context.client_metadata())
    tell_field({name.data(), name.size()}, {value.data(), value.size()}, *info.mutable_request_headers());
  const auto deadline = context.deadline();
  if (deadline != std::chrono::system_clock::time_point::max()) {
    const auto left = deadline - std::chrono::system_clock::now();
    info.set_timeout_ms(std::chrono::duration_cast<std::chrono::milliseconds>(left).count());
  }
  return info;
}

template <class Definition>
void set_metadata(CallbackServerContext& context, const Definition& definition) {
  for_each_field(definition.response_headers(), [&](const std::string& name, const std::string& value) {
    context.AddInitialMetadata(name, value);
  });
  for_each_field(definition.response_trailers(), [&](const std::string& name, const std::string& value) {
    context.AddTrailingMetadata(name, value);
  });
}

// Error has the fields of google.rpc.Status with the same numbers.
Status status_of(const pb::Error& error) {
  const bool known = error.code() >= pb::CODE_CANCELED && error.code() <= pb::CODE_UNAUTHENTICATED;
  const auto code = known ? static_cast<grpc::StatusCode>(error.code()) : grpc::StatusCode::UNKNOWN;
  if (error.details().empty()) return {code, error.message()};
  return {code, error.message(), error.SerializeAsString()};
}
// If no reply can report what the server received, a detail of the error does.
Status status_with(pb::Error error, const request_info& info) {
  (void)error.add_details()->PackFrom(info);
  return status_of(error);
}

template <class Response>
Status single_reply(const pb::UnaryResponseDefinition& definition, const request_info& info,
                    Response& response) {
  if (definition.has_error()) return status_with(definition.error(), info);
  response.mutable_payload()->set_data(definition.response_data());
  *response.mutable_payload()->mutable_request_info() = info;
  return Status::OK;
}

// The suite measures that the server waits.
class pause {
 public:
  void then(std::uint32_t ms, std::function<void()> go_on) {
    if (ms == 0) return go_on();
    alarm_.Set(std::chrono::system_clock::now() + std::chrono::milliseconds(ms),
               [next = std::move(go_on)](bool) { next(); });
  }

 private:
  grpc::Alarm alarm_;
};

class unary_answer final : public grpc::ServerUnaryReactor {
 public:
  unary_answer(std::uint32_t delay_ms, const Status& outcome) {
    pause_.then(delay_ms, [this, outcome] { Finish(outcome); });
  }
  void OnDone() override { delete this; }

 private:
  pause pause_;
};

template <class Request, class Response>
grpc::ServerUnaryReactor* answer_one(CallbackServerContext& context, const Request& request,
                                     Response& response) {
  request_info info = info_of(context);
  (void)info.add_requests()->PackFrom(request);
  const auto& definition = request.response_definition();
  set_metadata(context, definition);
  return new unary_answer(definition.response_delay_ms(), single_reply(definition, info, response));
}

class client_streaming final : public grpc::ServerReadReactor<pb::ClientStreamRequest> {
 public:
  client_streaming(CallbackServerContext& context, pb::ClientStreamResponse& response)
      : context_(context), response_(response), info_(info_of(context)) {
    StartRead(&request_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (ok) {
      if (info_.requests().empty()) definition_ = request_.response_definition();
      (void)info_.add_requests()->PackFrom(request_);
      return StartRead(&request_);
    }
    set_metadata(context_, definition_);
    pause_.then(definition_.response_delay_ms(),
                [this] { Finish(single_reply(definition_, info_, response_)); });
  }
  void OnDone() override { delete this; }

  CallbackServerContext& context_;
  pb::ClientStreamResponse& response_;
  request_info info_;
  pb::ClientStreamRequest request_;
  pb::UnaryResponseDefinition definition_;  // of the first request
  pause pause_;
};

class server_streaming final : public grpc::ServerWriteReactor<pb::ServerStreamResponse> {
 public:
  server_streaming(CallbackServerContext& context, const pb::ServerStreamRequest& request)
      : info_(info_of(context)), definition_(request.response_definition()) {
    (void)info_.add_requests()->PackFrom(request);
    set_metadata(context, definition_);
    StartSendInitialMetadata();
  }

 private:
  void OnSendInitialMetadataDone(bool) override { next(); }
  void OnWriteDone(bool ok) override {
    if (ok) next();
    else Finish(Status::CANCELLED);
  }
  void OnDone() override { delete this; }

  void next() {
    if (sent_ < definition_.response_data_size())
      return pause_.then(definition_.response_delay_ms(), [this] {
        response_.Clear();
        response_.mutable_payload()->set_data(definition_.response_data(sent_));
        if (sent_++ == 0) *response_.mutable_payload()->mutable_request_info() = info_;
        StartWrite(&response_);
      });
    if (!definition_.has_error()) Finish(Status::OK);
    else Finish(sent_ == 0 ? status_with(definition_.error(), info_) : status_of(definition_.error()));
  }

  request_info info_;
  const pb::StreamResponseDefinition definition_;
  pb::ServerStreamResponse response_;
  int sent_ = 0;
  pause pause_;
};

class bidi_streaming final : public grpc::ServerBidiReactor<pb::BidiStreamRequest, pb::BidiStreamResponse> {
 public:
  explicit bidi_streaming(CallbackServerContext& context) : context_(context), info_(info_of(context)) {
    StartRead(&request_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      reading_ = false;
      return next();
    }
    (void)info_.add_requests()->PackFrom(request_);
    if (received_++ == 0) {
      definition_ = request_.response_definition();
      full_duplex_ = request_.full_duplex();
      set_metadata(context_, definition_);
      return StartSendInitialMetadata();
    }
    go_on();
  }
  void OnSendInitialMetadataDone(bool) override { go_on(); }
  void OnWriteDone(bool ok) override {
    if (!ok) Finish(Status::CANCELLED);
    else if (reading_) StartRead(&request_);
    else next();
  }
  void OnDone() override { delete this; }

  // After a request.
  void go_on() {
    if (full_duplex_) next();
    else StartRead(&request_);
  }
  void next() {
    if (sent_ < definition_.response_data_size())
      return pause_.then(definition_.response_delay_ms(), [this] {
        response_.Clear();
        response_.mutable_payload()->set_data(definition_.response_data(sent_));
        // With every reply in full duplex, since each answers one request.
        if (sent_++ == 0 || (full_duplex_ && reading_))
          response_.mutable_payload()->mutable_request_info()->Swap(&info_);
        StartWrite(&response_);
      });
    if (!definition_.has_error()) Finish(Status::OK);
    else Finish(sent_ == 0 ? status_with(definition_.error(), info_) : status_of(definition_.error()));
  }

  CallbackServerContext& context_;
  request_info info_;  // what the next reply tells
  pb::BidiStreamRequest request_;
  pb::BidiStreamResponse response_;
  pb::StreamResponseDefinition definition_;  // of the first request
  int received_ = 0;
  int sent_ = 0;
  bool full_duplex_ = false;
  bool reading_ = true;
  pause pause_;
};

class conformance_service final : public pb::ConformanceService::CallbackService {
  grpc::ServerUnaryReactor* Unary(CallbackServerContext* context, const pb::UnaryRequest* request,
                                  pb::UnaryResponse* response) override {
    return answer_one(*context, *request, *response);
  }
  grpc::ServerUnaryReactor* IdempotentUnary(CallbackServerContext* context,
                                            const pb::IdempotentUnaryRequest* request,
                                            pb::IdempotentUnaryResponse* response) override {
    return answer_one(*context, *request, *response);
  }
  grpc::ServerReadReactor<pb::ClientStreamRequest>* ClientStream(
      CallbackServerContext* context, pb::ClientStreamResponse* response) override {
    return new client_streaming(*context, *response);
  }
  grpc::ServerWriteReactor<pb::ServerStreamResponse>* ServerStream(
      CallbackServerContext* context, const pb::ServerStreamRequest* request) override {
    return new server_streaming(*context, *request);
  }
  grpc::ServerBidiReactor<pb::BidiStreamRequest, pb::BidiStreamResponse>* BidiStream(
      CallbackServerContext* context) override {
    return new bidi_streaming(*context);
  }
};

std::shared_ptr<grpc::ServerCredentials> credentials_for(const pb::ServerCompatRequest& wanted) {
  if (!wanted.use_tls()) return grpc::InsecureServerCredentials();
  const bool asks = !wanted.client_tls_cert().empty();
  grpc::SslServerCredentialsOptions tls(asks ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                             : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  tls.pem_key_cert_pairs.push_back({wanted.server_creds().key(), wanted.server_creds().cert()});
  tls.pem_root_certs = wanted.client_tls_cert();
  return grpc::SslServerCredentials(tls);
}

int serve() {
  pb::ServerCompatRequest wanted;
  if (!read_framed(stdin, wanted)) return 2;
  conformance_service service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", credentials_for(wanted), &port);
  builder.RegisterService(&service);
  builder.SetDefaultCompressionAlgorithm(GRPC_COMPRESS_GZIP);
  if (wanted.message_receive_limit() > 0)
    builder.SetMaxReceiveMessageSize(static_cast<int>(wanted.message_receive_limit()));
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  pb::ServerCompatResponse answer;
  answer.set_host("127.0.0.1");
  answer.set_port(static_cast<std::uint32_t>(port));
  if (wanted.use_tls()) answer.set_pem_cert(wanted.server_creds().cert());
  write_framed(stdout, answer);
  server->Wait();
  return 0;
}

}  // namespace
}  // namespace conformance

int main() {
  try {
    return conformance::serve();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "grpcpp_conformance_server: %s\n", e.what());
    return 1;
  }
}
