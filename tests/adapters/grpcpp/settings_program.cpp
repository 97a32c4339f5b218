// A program in the API of grpc++, compiled with both libraries: settings of calls, channels and servers, by
// what they change. It prints what it sees in each as "case: what".
//
//   settings_program alone FOLDER     with the files of certificates.sh; both sides in one process
#include "call_kinds.grpc.pb.h"
#include "call_kinds_service.hpp"
#include "program_cases.hpp"
#include "queue_cases.hpp"

#include <grpc/grpc.h>

#include <grpcpp/alarm.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>
#include <grpcpp/support/client_interceptor.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

// A time of the program: milliseconds from now.
struct from_now {
  int ms;
};

}  // namespace

template <>
class grpc::TimePoint<from_now> {
 public:
  explicit TimePoint(const from_now& t)
      : time_(gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_millis(t.ms, GPR_TIMESPAN))) {}
  gpr_timespec raw_time() const { return time_; }

 private:
  gpr_timespec time_;
};

namespace call_kinds::settings {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

// A server, and a channel to it.
struct ends {
  using preparation = std::function<void(grpc::ServerBuilder&)>;
  explicit ends(
      grpc::Service& service, const preparation& prepare = [](grpc::ServerBuilder&) {},
      const grpc::ChannelArguments& arguments = {})
      : server(start_server(port,
                            [&](grpc::ServerBuilder& builder) {
                              builder.RegisterService(&service);
                              prepare(builder);
                            })),
        channel(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                          grpc::InsecureChannelCredentials(), arguments)),
        stub(CallKinds::NewStub(channel)) {}
  ~ends() { server->Shutdown(system_clock::now()); }
  int port = 0;
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<CallKinds::Stub> stub;
};

using context_preparation = std::function<void(grpc::ClientContext&)>;

grpc::StatusCode code_of(
    CallKinds::Stub& stub, const Query& q, const context_preparation& prepare = [](grpc::ClientContext&) {}) {
  grpc::ClientContext context;
  prepare(context);
  Reply reply;
  return stub.Unary(&context, q, &reply).error_code();
}

// --- times of the program

void times() {
  call_kinds_service service;
  ends by(service);
  grpc::ClientContext context;
  context.set_deadline(from_now{100'000});
  const auto left = context.deadline() - system_clock::now();
  say("deadline of a type of the program", left > 50s && left < 150s,
      code_of(
          *by.stub, query("hello"), [](auto& c) { c.set_deadline(from_now{10'000}); }),
      code_of(
          *by.stub, query("wait for cancel"), [](auto& c) { c.set_deadline(from_now{100}); }),
      code_of(*by.stub, query("hello"), [](auto& c) { c.set_deadline(from_now{-1000}); }));
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  const auto none = queue.AsyncNext(&tag, &ok, from_now{1});
  grpc::Alarm alarm;
  alarm.Set(&queue, from_now{1}, tagged(1));
  const std::string rang = taken(queue);
  alarm.Set(&queue, from_now{100'000}, tagged(2));
  alarm.Cancel();
  say("alarm at a time of the program", none == grpc::CompletionQueue::TIMEOUT, rang, taken(queue));
  const auto channel = grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials());
  const bool changed = channel->WaitForStateChange(GRPC_CHANNEL_IDLE, from_now{1});
  say("state at a time of the program", changed, channel->WaitForConnected(from_now{50}));
  ends other(service);
  other.server->Shutdown(from_now{1});
  say("shutdown at a time of the program", code_of(*other.stub, query("hello")));
}

void waiting() {
  const auto stub =
      CallKinds::NewStub(grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()));
  const auto with = [&](bool fail) {
    return code_of(*stub, query("hello"), [&](grpc::ClientContext& c) {
      c.set_fail_fast(fail);
      c.set_deadline(from_now{fail ? 10'000 : 200});
    });
  };
  const auto fails = with(true);
  say("fail fast", fails, with(false));
}

// --- calls on behalf of a call with callbacks

// Calls another service on behalf of its caller, and answers as that does.
class relay final : public CallKinds::CallbackService {
 public:
  explicit relay(CallKinds::Stub& to) : to_(to) {}
  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const Query* q,
                                  Reply* reply) override {
    struct call {
      std::unique_ptr<grpc::ClientContext> context;
      Query query;
    };
    grpc::PropagationOptions options;
    if (q->load() == "no deadline") options.disable_deadline_propagation();
    const auto made = std::make_shared<call>();
    made->context = grpc::ClientContext::FromCallbackServerContext(*context, options);
    made->query = query(q->ask(), q->number());
    auto* const reactor = context->DefaultReactor();
    to_.async()->Unary(made->context.get(), &made->query, reply,
                       [made, reactor](const grpc::Status& s) { reactor->Finish(s); });
    return reactor;
  }

 private:
  CallKinds::Stub& to_;
};

void children() {
  call_kinds_service behind;
  ends inner(behind);
  relay service(*inner.stub);
  ends by(service);
  const auto tens_of_seconds = [&](const std::string& load, int ms) {
    grpc::ClientContext context;
    if (ms > 0) context.set_deadline(from_now{ms});
    Reply reply;
    const auto s = by.stub->Unary(&context, query("deadline", 0, load), &reply);
    return s.ok() ? reply.number() : -1000;
  };
  const int with = tens_of_seconds("", 100'000);
  const int without = tens_of_seconds("", 0);
  say("deadline of a call for one with callbacks", with, without, tens_of_seconds("no deadline", 100'000));
  grpc::ClientContext context;
  Reply reply;
  grpc::StatusCode outcome = grpc::StatusCode::OK;
  const Query waits = query("wait for cancel");
  std::thread calling([&] { outcome = by.stub->Unary(&context, waits, &reply).error_code(); });
  code_of(*inner.stub, query("when another waits"));
  context.TryCancel();
  calling.join();
  inner.server->Shutdown();  // waits for the inner handler, which ends when its call is cancelled
  say("cancellation of a call for one with callbacks", outcome);
}

// --- sizes

void sizes() {
  call_kinds_service service;
  {
    ends by(service, [](grpc::ServerBuilder& b) { b.SetMaxSendMessageSize(1000); });
    const auto small = code_of(*by.stub, query("large", 100));
    say("replies above the limit of a server", small, code_of(*by.stub, query("large", 2000)));
  }
  {
    grpc::ChannelArguments arguments;
    arguments.SetMaxSendMessageSize(1000);
    ends by(service, [](grpc::ServerBuilder&) {}, arguments);
    const auto small = code_of(*by.stub, query("x", 0, std::string(100, 'x')));
    say("requests above the limit of a channel", small,
        code_of(*by.stub, query("x", 0, std::string(2000, 'x'))));
  }
}

// --- connections that the program looks into

// A server and a channel that are connected by this: it counts the bytes from the server, and may pass
// nothing any more but the end of the connection.
class connection {
 public:
  connection(
      grpc::Service& service, const ends::preparation& prepare, const grpc::ChannelArguments& arguments,
      std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> factories = {}) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    prepare(builder);
    server_ = builder.BuildAndStart();
    for (auto& pair : sockets_) {
      ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
      for (const int end : pair) ::fcntl(end, F_SETFL, O_NONBLOCK);
    }
    grpc::AddInsecureChannelFromFd(server_.get(), sockets_[0][0]);
    const auto channel = factories.empty()
                             ? grpc::CreateCustomInsecureChannelFromFd("anything", sockets_[1][0], arguments)
                             : grpc::experimental::CreateCustomInsecureChannelWithInterceptorsFromFd(
                                   "anything", sockets_[1][0], arguments, std::move(factories));
    passing_ = std::thread([this] { pass_all(); });
    stub = CallKinds::NewStub(channel);
  }
  ~connection() {
    server_->Shutdown(system_clock::now());
    ends_ = true;
    passing_.join();
    for (auto& pair : sockets_) ::close(pair[1]);
  }
  void freeze() { frozen_ = true; }
  // The bytes of the server since the last time.
  std::size_t count() { return bytes_.exchange(0); }
  std::unique_ptr<CallKinds::Stub> stub;

 private:
  void pass_all() {
    pollfd both[2] = {{sockets_[0][1], POLLIN, 0}, {sockets_[1][1], POLLIN, 0}};
    while (!ends_) {
      if (::poll(both, 2, 10) <= 0) continue;
      for (int from = 0; from < 2; ++from) {
        if (both[from].revents == 0) continue;
        char some[16'384];
        const ssize_t n = ::read(both[from].fd, some, sizeof some);
        if (n <= 0) {
          both[from].fd = -1;
          ::shutdown(sockets_[1 - from][1], SHUT_WR);
        }
        if (n <= 0 || frozen_) continue;
        if (from == 0) bytes_ += static_cast<std::size_t>(n);
        for (ssize_t written = 0; written < n && !ends_;) {
          const ssize_t more = ::send(sockets_[1 - from][1], some + written,
                                      static_cast<std::size_t>(n - written), MSG_NOSIGNAL);
          if (more > 0) written += more;
          else if (errno != EAGAIN) break;
        }
      }
    }
  }
  std::unique_ptr<grpc::Server> server_;
  int sockets_[2][2] = {};  // of the server and of the client: each end, and the other one, which is ours
  std::thread passing_;
  std::atomic<bool> frozen_{false};
  std::atomic<bool> ends_{false};
  std::atomic<std::size_t> bytes_{0};
};

void compression() {
  call_kinds_service service;
  const auto sent = [&](const ends::preparation& prepare, const grpc::ChannelArguments& arguments) {
    connection by(service, prepare, arguments);
    const auto code = code_of(*by.stub, query("large", 1'000'000));
    return std::to_string(code) + (by.count() < 500'000 ? " compressed;" : " not compressed;");
  };
  const auto level = [](grpc_compression_level l) {
    return [l](grpc::ServerBuilder& b) { b.SetDefaultCompressionLevel(l); };
  };
  const std::string none = sent(level(GRPC_COMPRESS_LEVEL_NONE), {});
  const std::string low = sent(level(GRPC_COMPRESS_LEVEL_LOW), {});
  say("default level of a server", none, low, sent(level(GRPC_COMPRESS_LEVEL_HIGH), {}));
  const auto gzip = [](grpc::ServerBuilder& b) { b.SetDefaultCompressionAlgorithm(GRPC_COMPRESS_GZIP); };
  say("default algorithm of a server", sent(gzip, {}));
  const auto accepted = [&](const ends::preparation& prepare) {
    ends by(service, prepare);
    return code_of(*by.stub, query("x", 0, std::string(10'000, 'x')),
                   [](grpc::ClientContext& c) { c.set_compression_algorithm(GRPC_COMPRESS_GZIP); });
  };
  const auto all = accepted([](grpc::ServerBuilder&) {});
  say("an algorithm that a server does not support", all, accepted([](grpc::ServerBuilder& b) {
        b.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
      }));
}

// --- the life of connections

void lives() {
  call_kinds_service service;
  const auto argument = [](const char* name, int value) {
    return [=](grpc::ServerBuilder& b) { b.AddChannelArgument(name, value); };
  };
  const auto deadline = [](int ms) { return [=](grpc::ClientContext& c) { c.set_deadline(from_now{ms}); }; };
  {
    ends by(service, [](grpc::ServerBuilder& b) {
      b.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, 100);
      b.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 100);
    });
    say("a call beyond the age of its connection",
        code_of(*by.stub, query("wait for cancel"), deadline(30'000)));
  }
  {
    ends by(service, argument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 100));
    const auto before = code_of(*by.stub, query("hello"));
    const bool left = by.channel->WaitForStateChange(GRPC_CHANNEL_READY, from_now{30'000});
    say("an idle connection of a server", before, left, by.channel->GetState(false),
        code_of(*by.stub, query("hello")));
  }
  {
    ends by(service, argument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1));
    const auto alone = code_of(*by.stub, query("hello"));
    grpc::ClientContext context;
    const auto first = by.stub->ServerStream(&context, query("until cancelled", 1));
    Reply reply;
    first->Read(&reply);
    const auto second = code_of(*by.stub, query("hello"), deadline(200));
    context.TryCancel();
    while (first->Read(&reply)) continue;
    first->Finish();
    say("a call beyond the streams of its connection", alone, second, code_of(*by.stub, query("hello")));
  }
  {
    connection by(service,
                  [](grpc::ServerBuilder& b) {
                    b.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 100);
                    b.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 100);
                  },
                  {});
    grpc::ClientContext context;
    context.set_deadline(from_now{30'000});
    const auto talking = by.stub->BidiStream(&context);
    Note note;
    const bool wrote = talking->Write(note);
    const bool read = talking->Read(&note);
    by.freeze();
    const bool again = talking->Read(&note);
    say("keepalive of a server", wrote, read, again, talking->Finish().error_code());
  }
}

void quotas() {
  call_kinds_service service;
  grpc::ResourceQuota quota("of the program");
  grpc::ResourceQuota& same = quota.Resize(100'000'000).SetMaxThreads(100);
  ends by(service, [&](grpc::ServerBuilder& b) { b.SetResourceQuota(quota); });
  quota.Resize(200'000'000);
  say("a quota", &same == &quota, code_of(*by.stub, query("large", 100'000)));
}

// --- interceptors of a channel from a descriptor

class counting final : public grpc::experimental::Interceptor {
 public:
  explicit counting(std::atomic<int>& calls) { ++calls; }
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override { methods->Proceed(); }
};
struct counting_factory final : grpc::experimental::ClientInterceptorFactoryInterface {
  explicit counting_factory(std::atomic<int>& to) : calls(to) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo*) override {
    return new counting(calls);
  }
  std::atomic<int>& calls;
};

void descriptors() {
  call_kinds_service service;
  std::atomic<int> calls{0};
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<counting_factory>(calls));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(1000);
  connection by(service, [](grpc::ServerBuilder&) {}, arguments, std::move(factories));
  const auto small = code_of(*by.stub, query("hello"));
  const auto large = code_of(*by.stub, query("large", 2000));
  say("interceptors of a channel from a descriptor", small, large, calls);
}

// --- verifiers of TLS

std::string folder;  // of certificates

std::string file(const std::string& name) {
  std::ifstream from(folder + "/" + name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(from), {});
}

class deciding final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  explicit deciding(grpc::StatusCode verdict) : verdict_(verdict) {}
  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest*, std::function<void(grpc::Status)>,
              grpc::Status* verdict) override {
    *verdict = grpc::Status(verdict_, "");
    return true;
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

 private:
  const grpc::StatusCode verdict_;
};

void verifiers() {
  using namespace grpc::experimental;
  call_kinds_service service;
  grpc::SslServerCredentialsOptions of_server;
  of_server.pem_key_cert_pairs.push_back({file("server.key"), file("server.pem")});
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(of_server), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto seen = [&](std::shared_ptr<CertificateVerifier> verifier, const char* name, const char* roots) {
    TlsChannelCredentialsOptions options;
    options.set_certificate_provider(
        std::make_shared<StaticDataCertificateProvider>(file(roots), std::vector<IdentityKeyCertPair>{}));
    options.watch_root_certs();
    options.set_certificate_verifier(std::move(verifier));
    options.set_check_call_host(false);
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(name);
    const auto channel =
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), TlsCredentials(options), arguments);
    return code_of(*CallKinds::NewStub(channel), query("hello"));
  };
  const auto by_name = [&](const char* name) {
    return seen(std::make_shared<HostNameCertificateVerifier>(), name, "ca.pem");
  };
  const auto by_nothing = [&](const char* name, const char* roots) {
    return seen(std::make_shared<NoOpCertificateVerifier>(), name, roots);
  };
  const auto by_program = [&](const char* name, grpc::StatusCode verdict) {
    return seen(ExternalCertificateVerifier::Create<deciding>(verdict), name, "ca.pem");
  };
  const auto right = by_name("localhost");
  say("a verifier of names", right, by_name("elsewhere.example"));
  const auto of_the_name = by_nothing("localhost", "ca.pem");
  const auto of_another = by_nothing("elsewhere.example", "ca.pem");
  say("a verifier of nothing", of_the_name, of_another, by_nothing("localhost", "client.pem"));
  const auto accepted = by_program("localhost", grpc::StatusCode::OK);
  const auto other_accepted = by_program("elsewhere.example", grpc::StatusCode::OK);
  say("a verifier of the program", accepted, other_accepted,
      by_program("localhost", grpc::StatusCode::PERMISSION_DENIED));
}

int run_alone(const std::string& certificates) {
  folder = certificates;
  grpc_init();
  grpc_init();
  grpc_shutdown();  // one is left
  say("initialized", grpc_is_initialized() != 0);
  times();
  waiting();
  children();
  sizes();
  compression();
  lives();
  quotas();
  descriptors();
  verifiers();
  grpc_shutdown();
  return 0;
}

const program entry("settings", {{"alone", "CERTIFICATES", run_alone}});

}  // namespace
}  // namespace call_kinds::settings
