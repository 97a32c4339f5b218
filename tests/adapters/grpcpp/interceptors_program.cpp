// A program in the API of grpc++, compiled with both libraries: which hook points its interceptors see, in
// which order, and what they can change.
//
//   interceptors_program alone      prints each case as "case: what"
#include "call_kinds.grpc.pb.h"
#include "call_kinds_service.hpp"
#include "interceptor_cases.hpp"
#include "program_cases.hpp"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace call_kinds::interceptors {
namespace {

using namespace std::chrono_literals;

record of_client;
record of_server;

using ends = both_ends<>;

// What both sides have seen; the server's close comes after the client's status.
void say_seen(const std::string& name) {
  // It sleeps on purpose: nothing tells the program when the server's interceptors have seen the end.
  while (!of_server.has("A(got-close)")) std::this_thread::sleep_for(1ms);
  say(name + ", client", of_client.take());
  say(name + ", server", of_server.take());
}

void order() {
  ends both(tracing_servers(of_server), tracing_clients(of_client));
  {
    grpc::ClientContext context;
    Reply reply;
    both.stub->Unary(&context, query("x"), &reply);
    say_seen("unary");
  }
  {
    grpc::ClientContext context;
    Reply reply;
    both.stub->Unary(&context, query("error", 5), &reply);
    say_seen("unary error");
  }
  {
    grpc::ClientContext context;
    Reply reply;
    of_server.take();
    both.stub->Unary(&context, query("cancel yourself"), &reply);
    const auto ended = [] { return of_server.has("A(got-close)") && of_server.has("A(sent-message)"); };
    // It sleeps on purpose: nothing tells when the interceptors have seen both ends.
    while (!ended()) std::this_thread::sleep_for(1ms);
    say("unary that the server cancels, client", of_client.take());
    say("unary that the server cancels, server", sorted(of_server.take()));
  }
  {
    grpc::ClientContext context;
    const auto reader = both.stub->ServerStream(&context, query("x", 1));
    Reply reply;
    while (reader->Read(&reply)) continue;
    reader->Finish();
    say_seen("server stream");
  }
  {
    grpc::ClientContext context;
    const auto reader = both.stub->ServerStream(&context, query("headers first", 1));
    reader->WaitForInitialMetadata();
    Reply reply;
    while (reader->Read(&reply)) continue;
    reader->Finish();
    say_seen("server stream with headers first");
  }
  {
    grpc::ClientContext context;
    Summary summary;
    const auto writer = both.stub->ClientStream(&context, &summary);
    writer->Write(Position());
    writer->Write(Position());
    writer->WritesDone();
    writer->Finish();
    say_seen("client stream");
  }
  {
    grpc::ClientContext context;
    Summary summary;
    const auto writer = both.stub->ClientStream(&context, &summary);
    writer->WriteLast(Position(), grpc::WriteOptions());
    writer->Finish();
    say_seen("client stream of one message");
  }
  {
    grpc::ClientContext context;
    const auto stream = both.stub->BidiStream(&context);
    Note note;
    stream->Write(note);
    stream->Read(&note);
    stream->WritesDone();
    while (stream->Read(&note)) continue;
    stream->Finish();
    say_seen("bidi stream");
  }
}

// --- what they can change

std::string called(CallKinds::Stub& stub, const Query& q) {
  grpc::ClientContext context;
  Reply reply;
  const auto s = stub.Unary(&context, q, &reply);
  std::string all = std::to_string(s.error_code()) + " '" + s.error_message() + "' " + reply.name() + " " +
                    std::to_string(reply.number());
  for (const auto& [key, value] : context.GetServerInitialMetadata())
    if (key == "echo-x" || key == "echo-s") all += " " + text(key) + "=" + text(value);
  for (const auto& [key, value] : context.GetServerTrailingMetadata())
    if (key == "trail-s") all += " " + text(key) + "=" + text(value);
  return all;
}

void changes() {
  {
    const ends both({}, acting_clients([](InterceptorBatchMethods* m) {
                      if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA))
                        m->GetSendInitialMetadata()->emplace("echo-x", "added");
                      m->Proceed();
                    }));
    say("metadata of a client's interceptor", called(*both.stub, query("x", 1)));
  }
  {
    Query other = query("other", 9);
    const ends both({}, acting_clients([&](InterceptorBatchMethods* m) {
                      if (m->QueryInterceptionHookPoint(points::PRE_SEND_MESSAGE)) {
                        const auto* sent = static_cast<const Query*>(m->GetSendMessage());
                        if (sent->number() == 1) m->ModifySendMessage(&other);
                      }
                      m->Proceed();
                    }));
    say("request of an interceptor", called(*both.stub, query("x", 1)));
    say("request that it keeps", called(*both.stub, query("x", 2)));
  }
  {
    std::size_t bytes = 0;
    bool gone = false;
    const ends both({}, acting_clients([&](InterceptorBatchMethods* m) {
                      if (m->QueryInterceptionHookPoint(points::PRE_SEND_MESSAGE)) {
                        bytes = m->GetSerializedSendMessage()->Length();
                        gone = m->GetSendMessage() == nullptr;
                      }
                      m->Proceed();
                    }));
    const std::string seen = called(*both.stub, query("x", 1));
    say("serialized request", seen, bytes, gone);
  }
  {
    const ends both({}, acting_clients(change_reply));
    say("reply of an interceptor", called(*both.stub, query("x", 1)));
    say("status of an interceptor", called(*both.stub, query("error", 5)));
  }
  {
    const ends both(acting_servers([](InterceptorBatchMethods* m) {
                      if (m->QueryInterceptionHookPoint(points::POST_RECV_MESSAGE))
                        static_cast<Query*>(m->GetRecvMessage())->set_number(77);
                      if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA))
                        m->GetSendInitialMetadata()->emplace("echo-s", "server");
                      if (m->QueryInterceptionHookPoint(points::PRE_SEND_STATUS)) {
                        m->GetSendTrailingMetadata()->emplace("trail-s", "server");
                        if (!m->GetSendStatus().ok())
                          m->ModifySendStatus(grpc::Status(grpc::StatusCode::ABORTED, "by the server"));
                      }
                      m->Proceed();
                    }),
                    {});
    say("changes of a server's interceptor", called(*both.stub, query("x", 1)));
    say("status of a server's interceptor", called(*both.stub, query("error", 5)));
  }
  {
    later threads;
    const ends both(acting_servers([](InterceptorBatchMethods* m) { m->Proceed(); }),
                    acting_clients(threads.act()));
    say("interceptor on another thread", called(*both.stub, query("x", 1)));
  }
  {
    const ends both({}, clients([](ClientRpcInfo*) { return nullptr; }));
    say("factory without an interceptor", called(*both.stub, query("x", 1)));
  }
}

void hijacks() {
  for (const bool ok : {true, false}) {
    const auto code = ok ? grpc::StatusCode::OK : grpc::StatusCode::NOT_FOUND;
    const ends both({}, hijacking_clients(of_client, code));
    const std::string how = ok ? "hijacked" : "hijacked and failed";
    const std::string seen = called(*both.stub, query("x", 1));
    say(how + " unary", seen, of_client.take());
    grpc::ClientContext context;
    const auto reader = both.stub->ServerStream(&context, query("x", 1));
    Reply reply;
    const bool first = ok && reader->Read(&reply);
    const auto s = reader->Finish();
    say(how + " server stream", first, reply.name(), s.error_code(), of_client.take());
  }
}

void others() {
  {
    const ends both({}, tracing_clients(of_client));
    grpc::ClientContext context;
    const auto reader = both.stub->ServerStream(&context, query("until cancelled", 1));
    Reply reply;
    reader->Read(&reply);
    of_client.take();
    context.TryCancel();
    say("cancelled", of_client.take());
    while (reader->Read(&reply)) continue;
    reader->Finish();
    of_client.take();
  }
  {
    grpc::ClientContext context;
    std::string of_info;
    const ends both(servers([&](ServerRpcInfo* info) {
                      of_server.add(std::string(info->method()) +
                                    (info->type() == ServerRpcInfo::Type::UNARY ? " unary" : " stream") +
                                    (info->server_context() ? " context" : ""));
                      return nullptr;
                    }),
                    clients([&](ClientRpcInfo* info) {
                      of_info += std::string(info->method()) +
                                 (info->type() == ClientRpcInfo::Type::UNARY ? " unary" : " stream") +
                                 (info->client_context() == &context ? " context" : "") +
                                 (info->channel() ? " channel" : "");
                      return nullptr;
                    }));
    Reply reply;
    of_server.take();
    both.stub->Unary(&context, query("x", 1), &reply);
    say("info of a client's call", of_info);
    say("info of a server's call", of_server.take());
  }
  {
    // The first interceptor asks the server before the call, behind itself.
    const ends both({}, acting_clients(
                            [](InterceptorBatchMethods* m) {
                              if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA)) {
                                const auto behind = CallKinds::NewStub(m->GetInterceptedChannel());
                                of_client.add("asks:" + called(*behind, query("y", 2)));
                              }
                              m->Proceed();
                            },
                            tracing_clients(of_client, {"b"})));
    of_client.take();
    const std::string seen = called(*both.stub, query("x", 1));
    say("call of an interceptor", seen, of_client.take());
  }
  {
    static client_factory all([](ClientRpcInfo*) { return new tracing(of_client, "global"); });
    grpc::experimental::RegisterGlobalClientInterceptorFactory(&all);
    const ends both({}, tracing_clients(of_client));
    called(*both.stub, query("x", 1));
    say("global interceptor", of_client.take());
    grpc::experimental::TestOnlyResetGlobalClientInterceptorFactory();
  }
}

int run_alone() {
  order();
  changes();
  hijacks();
  others();
  return 0;
}

const program entry("interceptors", {{"alone", run_alone}});

}  // namespace
}  // namespace call_kinds::interceptors
