// A worker, and features of its calls: compression, deadlines and retries by a service config,
// authentication by metadata, health.
#include "health.grpc.pb.h"
#include "program.hpp"

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

namespace programs {

using program_services::Job;
using program_services::Result;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

namespace {

Job job_of(const std::string& kind, int number = 0, const std::string& load = "") {
  Job job;
  job.set_kind(kind);
  job.set_number(number);
  job.set_load(load);
  return job;
}

std::string text_of(const grpc::string_ref& text) { return std::string(text.data(), text.size()); }

class worker final : public program_services::Worker::Service {
 public:
  grpc::Status Do(grpc::ServerContext* context, const Job* job, Result* result) override {
    return done(*context, *job, *result);
  }
  grpc::Status DoAll(grpc::ServerContext* context, grpc::ServerReaderWriter<Result, Job>* stream) override {
    Job job;
    while (stream->Read(&job)) {
      Result result;
      const grpc::Status status = done(*context, job, result);
      if (!status.ok()) return status;
      grpc::WriteOptions options;
      if (job.kind() == "uncompressed") options.set_no_compression();
      stream->Write(result, options);
    }
    return grpc::Status::OK;
  }

  grpc::HealthCheckServiceInterface* health = nullptr;
  std::atomic<int> jobs = 0;

 private:
  grpc::Status done(grpc::ServerContext& context, const Job& job, Result& result) {
    ++jobs;
    result.set_number(job.number());
    const std::string attempts = value_of(context.client_metadata(), "grpc-previous-rpc-attempts");
    const int attempt = attempts == "none" ? 0 : std::stoi(attempts);
    if (job.kind() == "compressed") {
      context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
      result.set_load(job.load());
    } else if (job.kind() == "deflated") {
      context.set_compression_algorithm(GRPC_COMPRESS_DEFLATE);
      result.set_load(job.load());
    } else if (job.kind() == "level") {
      context.set_compression_level(GRPC_COMPRESS_LEVEL_HIGH);
      result.set_load(job.load());
    } else if (job.kind() == "sized") {
      result.set_load(std::string(job.number(), 's'));
    } else if (job.kind() == "hold") {
      // sleeps on purpose: the synchronous API has no event for a cancellation
      while (!context.IsCancelled()) std::this_thread::sleep_for(milliseconds(1));
    } else if (job.kind() == "flaky" && attempt < job.number()) {
      if (!job.load().empty()) context.AddTrailingMetadata("grpc-retry-pushback-ms", job.load());
      return {grpc::StatusCode::UNAVAILABLE, "attempt " + std::to_string(attempt)};
    } else if (job.kind() == "aborted") {
      return {grpc::StatusCode::ABORTED, "attempt " + std::to_string(attempt)};
    } else if (job.kind() == "time left") {
      const auto left = context.deadline() - system_clock::now();
      result.set_text(left > seconds(3600) ? "no deadline" : left > seconds(50) ? "a minute" : "seconds");
    } else if (job.kind() == "identity") {
      for (const auto& identity : context.auth_context()->GetPeerIdentity())
        result.set_text(text_of(identity));
      result.set_text(result.text() +
                      ", authorization: " + value_of(context.client_metadata(), "authorization"));
    } else if (job.kind() == "health") {
      health->SetServingStatus("program_services.Worker", job.number() == 1);
    } else {
      result.set_load(job.load());
    }
    if (result.text().empty()) result.set_text("attempt " + std::to_string(attempt));
    return grpc::Status::OK;
  }
};

// Jobs one after the other on a stream, and the size of all results.
std::string stream_of(program_services::Worker::Stub& stub, grpc::ClientContext& context,
                      const std::vector<Job>& jobs) {
  const auto stream = stub.DoAll(&context);
  std::size_t bytes = 0;
  int count = 0;
  for (const Job& job : jobs) {
    Result result;
    if (!stream->Write(job) || !stream->Read(&result)) break;
    ++count;
    bytes += result.load().size();
  }
  stream->WritesDone();
  return shown(stream->Finish()) + " " + std::to_string(count) + " " + std::to_string(bytes);
}

}  // namespace

namespace compression {

void serve(const arguments&) {
  worker service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.SetDefaultCompressionAlgorithm(GRPC_COMPRESS_DEFLATE);
  const auto server = start(builder);
  wait_for_sigterm();
  server->Shutdown();
  say("server has done", service.jobs);
}

void call(const arguments& given) {
  const std::string load(1'000'000, 'z');
  const std::string noise = [] {
    std::string all(100'000, '\0');
    std::uint32_t state = 1;
    for (char& byte : all) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    return all;
  }();
  for (const auto algorithm : {GRPC_COMPRESS_NONE, GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ChannelArguments arguments;
    arguments.SetCompressionAlgorithm(algorithm);
    const auto stub = program_services::Worker::NewStub(
        grpc::CreateCustomChannel("127.0.0.1:" + given.at(0), grpc::InsecureChannelCredentials(), arguments));
    const std::string by = " by channel algorithm " + std::to_string(algorithm);
    for (const char* kind : {"echo", "compressed", "deflated", "level"})
      for (const std::string& one : {std::string(), std::string("short"), load, noise}) {
        grpc::ClientContext context;
        Result result;
        const grpc::Status status = stub->Do(&context, job_of(kind, 1, one), &result);
        say(kind + by, shown(status), result.load().size(), result.load() == one);
      }
    grpc::ClientContext context;
    if (algorithm != GRPC_COMPRESS_NONE) context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    say("stream" + by, stream_of(*stub, context,
                                 {job_of("echo", 1, load), job_of("uncompressed", 2, load), job_of("echo")}));
  }
  // A message that is small on the wire, and too large.
  const auto stub = program_services::Worker::NewStub(channel_to(given.at(0)));
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  Result result;
  say("too large when it is decompressed",
      stub->Do(&context, job_of("echo", 1, std::string(5'000'000, 'z')), &result).error_code());
}

}  // namespace compression

namespace retries {

void serve(const arguments&) {
  worker service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = start(builder);
  wait_for_sigterm();
  server->Shutdown();
  say("server has done", service.jobs);
}

void call(const arguments& given) {
  const char* config = R"({"methodConfig": [
    {"name": [{"service": "program_services.Worker", "method": "Do"}], "timeout": "40s",
     "maxRequestMessageBytes": 1000, "maxResponseMessageBytes": 2000,
     "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.02s", "backoffMultiplier": 2,
                     "retryableStatusCodes": ["UNAVAILABLE"]}},
    {"name": [{"service": "program_services.Worker", "method": "DoAll"}], "timeout": "0.5s", "waitForReady": true,
     "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.01s", "maxBackoff": "0.02s", "backoffMultiplier": 1,
                     "retryableStatusCodes": ["UNAVAILABLE", "ABORTED"]}}]})";
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(config);
  const auto configured = [&arguments, &given] {
    return program_services::Worker::NewStub(
        grpc::CreateCustomChannel("127.0.0.1:" + given.at(0), grpc::InsecureChannelCredentials(), arguments));
  };
  const auto with_config = configured();
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  const auto without_retries = configured();
  const auto plain = program_services::Worker::NewStub(channel_to(given.at(0)));

  const auto once = [](const std::string& name, program_services::Worker::Stub& stub, const Job& job,
                       milliseconds deadline = milliseconds(0)) {
    grpc::ClientContext context;
    if (deadline.count() != 0) context.set_deadline(system_clock::now() + deadline);
    Result result;
    const grpc::Status status = stub.Do(&context, job, &result);
    // Texts of the server alone.
    const bool own = status.error_message().rfind("attempt", 0) == 0;
    say(name, status.error_code(), own ? status.error_message() : "", result.text(), result.load().size());
  };
  for (int failures = 0; failures < 6; ++failures)
    once("fails " + std::to_string(failures) + " times", *with_config, job_of("flaky", failures));
  once("a code that is not retried", *with_config, job_of("aborted"));
  once("retries off", *without_retries, job_of("flaky", 1));
  once("no config", *plain, job_of("flaky", 1));
  once("told when to retry", *with_config, job_of("flaky", 2, "1"));
  once("told not to retry", *with_config, job_of("flaky", 2, "-1"));
  once("request beyond the config's limit", *with_config, job_of("echo", 0, std::string(1001, 'x')));
  once("request within the config's limit", *with_config, job_of("echo", 0, std::string(900, 'x')));
  once("result beyond the config's limit", *with_config, job_of("sized", 2001));
  once("result without a limit", *plain, job_of("sized", 2001));

  once("time left by the config", *with_config, job_of("time left"));
  once("time left by an earlier deadline", *with_config, job_of("time left"), seconds(20));
  once("time left by a later deadline", *with_config, job_of("time left"), seconds(100));
  once("time left by a deadline", *plain, job_of("time left"), seconds(100));
  once("time left without one", *plain, job_of("time left"));
  once("a deadline that passes", *with_config, job_of("hold"), milliseconds(100));
  once("a deadline in the past", *with_config, job_of("echo"), milliseconds(-100));
  {
    grpc::ClientContext context;
    say("the config's timeout of a stream", stream_of(*with_config, context, {job_of("hold")}).substr(0, 1));
  }
  for (int failures = 1; failures < 4; ++failures) {
    grpc::ClientContext context;
    say("stream that fails " + std::to_string(failures) + " times",
        stream_of(*with_config, context, {job_of("flaky", failures)}));
  }
  {
    // What has been answered is not retried.
    grpc::ClientContext context;
    say("stream that fails late", stream_of(*with_config, context, {job_of("echo"), job_of("flaky", 1)}));
  }
}

}  // namespace retries

namespace auth {

namespace {

std::string read(const std::string& path) {
  std::ifstream from(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(from), {});
}

// Takes "Bearer name" for the name.
class checker final : public grpc::AuthMetadataProcessor {
 public:
  grpc::Status Process(const InputMetadata& given, grpc::AuthContext* context, OutputMetadata* consumed,
                       OutputMetadata*) override {
    const auto found = given.find("authorization");
    if (found == given.end()) return {grpc::StatusCode::UNAUTHENTICATED, "no token"};
    const std::string token = text_of(found->second);
    if (token.rfind("Bearer ", 0) != 0 || token == "Bearer mallory")
      return {grpc::StatusCode::PERMISSION_DENIED, "not " + token};
    consumed->insert({"authorization", token});
    context->AddProperty("name", token.substr(7));
    context->SetPeerIdentityPropertyName("name");
    return grpc::Status::OK;
  }
};

class token_source final : public grpc::MetadataCredentialsPlugin {
 public:
  token_source(std::string name, std::string port) : name_(std::move(name)), port_(std::move(port)) {}
  bool IsBlocking() const override { return true; }
  grpc::Status GetMetadata(grpc::string_ref url, grpc::string_ref method, const grpc::AuthContext&,
                           std::multimap<grpc::string, grpc::string>* metadata) override {
    std::string shown = text_of(url);
    const auto port = shown.find(port_);
    if (port != std::string::npos) shown.replace(port, port_.size(), "PORT");
    say("a token of " + name_ + " for", shown, text_of(method));
    if (name_ == "nobody") return {grpc::StatusCode::FAILED_PRECONDITION, "no key"};
    metadata->emplace("authorization", "Bearer " + name_);
    return grpc::Status::OK;
  }

 private:
  std::string name_;
  std::string port_;
};

}  // namespace

// Argument: a folder with certificates.
void serve(const arguments& given) {
  worker service;
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {read(given.at(0) + "/server.key"), read(given.at(0) + "/server.pem")});
  const auto credentials = grpc::SslServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<checker>());
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = start(builder, credentials);
  wait_for_sigterm();
  server->Shutdown();
  say("server has done", service.jobs);
}

void call(const arguments& given) {
  const std::string target = "127.0.0.1:" + given.at(0);
  const auto token_of = [&given](const std::string& name) {
    return grpc::MetadataCredentialsFromPlugin(std::make_unique<token_source>(name, given.at(0)));
  };
  grpc::SslCredentialsOptions trust;
  trust.pem_root_certs = read(given.at(1) + "/ca.pem");
  const auto tls = grpc::SslCredentials(trust);
  const auto once = [](const std::string& name, grpc::Channel& channel,
                       const std::shared_ptr<grpc::CallCredentials>& credentials, bool with_text = true) {
    const auto stub =
        program_services::Worker::NewStub(std::shared_ptr<grpc::Channel>(&channel, [](auto*) {}));
    grpc::ClientContext context;
    if (credentials) context.set_credentials(credentials);
    Result result;
    const grpc::Status status = stub->Do(&context, job_of("identity"), &result);
    say(name, with_text ? shown(status) : std::to_string(status.error_code()), result.text());
  };
  const auto channel = grpc::CreateChannel(target, tls);
  once("no token", *channel, nullptr);
  once("ada", *channel, token_of("ada"));
  once("mallory", *channel, token_of("mallory"));
  once("a plugin that fails", *channel, token_of("nobody"), false);
  once("a token that is given", *channel, grpc::AccessTokenCredentials("eve"));
  const auto of_grace =
      grpc::CreateChannel(target, grpc::CompositeChannelCredentials(tls, token_of("grace")));
  once("grace, by her channel", *of_grace, nullptr);
  {
    const auto stub = program_services::Worker::NewStub(of_grace);
    grpc::ClientContext context;
    say("grace's stream", stream_of(*stub, context, {job_of("identity"), job_of("identity")}));
  }
  once("no TLS", *grpc::CreateChannel(target, grpc::InsecureChannelCredentials()), nullptr, false);
  once("a server that is not trusted", *grpc::CreateChannel(target, grpc::SslCredentials({})), nullptr,
       false);
  grpc::ChannelArguments named;
  named.SetSslTargetNameOverride("foo.test.google.fr");
  once("another name", *grpc::CreateCustomChannel(target, tls, named), grpc::AccessTokenCredentials("ada"));
  grpc::ChannelArguments wrong;
  wrong.SetSslTargetNameOverride("another.example");
  once("a wrong name", *grpc::CreateCustomChannel(target, tls, wrong), token_of("ada"), false);
}

}  // namespace auth

namespace health {

namespace {

std::string checked(grpc::health::v1::Health::Stub& stub, const std::string& service) {
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status status = stub.Check(&context, request, &response);
  return std::to_string(status.error_code()) + " " + std::to_string(response.status());
}

bool wait_for(grpc::Channel& channel, grpc_connectivity_state wanted) {
  for (auto state = channel.GetState(true); state != wanted; state = channel.GetState(true))
    if (!channel.WaitForStateChange(state, system_clock::now() + seconds(20))) return false;
  return true;
}

}  // namespace

void serve(const arguments&) {
  grpc::EnableDefaultHealthCheckService(true);
  worker service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = start(builder);
  service.health = server->GetHealthCheckService();
  wait_for_sigterm();
  server->Shutdown();
  say("server has done", service.jobs);
}

void call(const arguments& given) {
  const auto channel = channel_to(given.at(0));
  const auto health = grpc::health::v1::Health::NewStub(channel);
  const auto worker = program_services::Worker::NewStub(channel);
  const auto set = [&worker](bool serves) {
    grpc::ClientContext context;
    Result result;
    worker->Do(&context, job_of("health", serves ? 1 : 0), &result);
  };
  say("the server", checked(*health, ""));
  say("a service that is not known", checked(*health, "program_services.Worker"));
  set(true);
  say("a service", checked(*health, "program_services.Worker"));

  grpc::ClientContext watching;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("program_services.Worker");
  const auto watch = health->Watch(&watching, request);
  grpc::health::v1::HealthCheckResponse response;
  const auto next = [&](const std::string& name) {
    const bool read = watch->Read(&response);
    say(name, read, response.status());
  };
  next("watched");
  set(false);
  next("watched, then not serving");

  // A channel that calls healthy servers alone.
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(
      R"({"loadBalancingConfig": [{"round_robin": {}}],
          "healthCheckConfig": {"serviceName": "program_services.Worker"}})");
  const auto careful =
      grpc::CreateCustomChannel("127.0.0.1:" + given.at(0), grpc::InsecureChannelCredentials(), arguments);
  const auto careful_worker = program_services::Worker::NewStub(careful);
  const auto call = [&](const std::string& name, bool wait) {
    grpc::ClientContext context;
    context.set_wait_for_ready(wait);
    Result result;
    say(name, careful_worker->Do(&context, job_of("echo"), &result).error_code());
  };
  say("channel of an ill service", wait_for(*careful, GRPC_CHANNEL_TRANSIENT_FAILURE));
  call("call of an ill service", false);
  set(true);
  next("watched, then serving");
  call("call that waits for health", true);
  set(false);
  next("watched, then ill again");
  say("channel of a service that fell ill", wait_for(*careful, GRPC_CHANNEL_TRANSIENT_FAILURE));
  watching.TryCancel();
  const bool more = watch->Read(&response);
  say("watch ends", more, watch->Finish().error_code());
}

}  // namespace health

}  // namespace programs
