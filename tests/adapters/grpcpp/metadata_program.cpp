// A program in the API of grpc++, compiled with both libraries: which pairs of metadata a call carries, on
// both sides, and what becomes of the call if the protocol reserves a key. It prints "case: what".
//
//   metadata_program server           prints its address, and serves until SIGTERM
//   metadata_program client PORT
#include "call_kinds.grpc.pb.h"
#include "program_cases.hpp"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace call_kinds::metadata {
namespace {

// How often a key is there with the value that the program has sent, and how often with another one.
template <class Pairs>
std::string found(const Pairs& pairs, const std::string& key, const std::string& value) {
  int same = 0;
  int others = 0;
  const auto range = pairs.equal_range(key);
  for (auto at = range.first; at != range.second; ++at) ++(text(at->second) == value ? same : others);
  if (same + others == 0) return "none";
  return std::to_string(same) + (others > 0 ? " and " + std::to_string(others) + " of others" : "");
}

// "initial", "trailing" or "seen", the key, and the value.
class keys_service final : public CallKinds::Service {
  grpc::Status Unary(grpc::ServerContext* context, const Query* query, Reply* reply) override {
    const std::string& load = query->load();
    const std::string key = load.substr(0, load.find('\n'));
    const std::string value = load.substr(key.size() + 1);
    if (query->ask() == "initial") context->AddInitialMetadata(key, value);
    if (query->ask() == "trailing") context->AddTrailingMetadata(key, value);
    if (query->ask() == "seen") reply->set_name(found(context->client_metadata(), key, value));
    if (query->number() != 0)
      return grpc::Status(static_cast<grpc::StatusCode>(query->number()), "as asked for");
    return grpc::Status::OK;
  }
  // A proxy: copies what it has got into a call of its own, and what that has got into its reply.
  grpc::Status BidiStream(grpc::ServerContext* context,
                          grpc::ServerReaderWriter<Note, Note>* stream) override {
    Note note;
    stream->Read(&note);
    const auto stub = CallKinds::NewStub(channel_to(note.text()));
    const auto child = grpc::ClientContext::FromServerContext(*context);
    for (const auto& [key, value] : context->client_metadata()) child->AddMetadata(text(key), text(value));
    Reply reply;
    const auto s = stub->Unary(child.get(), query("trailing", 0, "own-trailing\n1"), &reply);
    for (const auto& [key, value] : child->GetServerInitialMetadata())
      context->AddInitialMetadata(text(key), text(value));
    for (const auto& [key, value] : child->GetServerTrailingMetadata())
      context->AddTrailingMetadata(text(key), text(value));
    note.set_text(std::to_string(s.error_code()));
    stream->Write(note);
    return grpc::Status::OK;
  }
};

const std::vector<std::pair<std::string, std::string>>& pairs() {
  static const auto& all = *new std::vector<std::pair<std::string, std::string>>{
      {"x-ordinary", "1"},
      {"user-agent", "mine/1.0"},
      {"host", "other.example"},
      {"te", "trailers"},
      {"te", "gzip"},
      {"content-type", "application/grpc"},
      {"content-type", "text/plain"},
      {"content-length", "5"},
      {"accept-encoding", "gzip"},
      {"content-encoding", "identity"},
      {"accept", "*/*"},
      {"cookie", "a=b"},
      {"date", "today"},
      {"server", "mine"},
      {"authorization", "Bearer x"},
      {"grpc-timeout", "1S"},
      {"grpc-encoding", "identity"},
      {"grpc-accept-encoding", "identity"},
      {"grpc-status", "0"},
      {"grpc-message", "mine"},
      {"grpc-status-details-bin", "mine"},
      {"grpc-retry-pushback-ms", "1000"},
      {"grpc-previous-rpc-attempts", "1"},
      {"grpc-trace-bin", "mine"},
      {"grpc-tags-bin", "mine"},
      {"grpc-server-stats-bin", "mine"},
      {"grpc-internal-encoding-request", "gzip"},
      {"grpc-message-type", "mine"},
      {"grpc-anything", "mine"},
      {"grpc-anything-bin", "mine"},
      {"lb-token", "mine"},
      {"endpoint-load-metrics-bin", "mine"},
      {"trailer-x", "mine"},
      {"connect-protocol-version", "1"},
      {"x-bin", std::string("\0\xff,", 3)},
      {"x-empty", ""},
      {"x-empty-bin", ""},
      {"x-comma", "a,b"},
      {"x_under.dot-1", "1"},
  };
  return all;
}

// What HTTP/2 forbids, and the original sends all the same. Its peers are others than the original, so that
// there is nothing to compare: such a pair is dropped, and spaces around a value are.
const std::vector<std::pair<std::string, std::string>>& forbidden() {
  static const auto& all = *new std::vector<std::pair<std::string, std::string>>{
      {"connection", "close"}, {"keep-alive", "timeout=5"},      {"proxy-connection", "close"},
      {"upgrade", "h2c"},      {"transfer-encoding", "chunked"}, {"x-spaces", " a b "}};
  return all;
}

std::string shown_pair(const std::string& key, const std::string& value) {
  std::ostringstream all;
  for (const unsigned char c : key + "=" + value) {
    if (c >= 0x20 && c < 0x7f) all << c;
    else all << "\\x" << std::hex << int{c} << std::dec;
  }
  return all.str();
}

void carried(CallKinds::Stub& stub, const std::string& prefix,
             const std::pair<std::string, std::string>& pair) {
  const auto& [key, value] = pair;
  const std::string name = shown_pair(key, value);
  const auto call = [&, &key = key, &value = value](const std::string& ask, int code) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    if (ask == "seen") context.AddMetadata(key, value);
    Reply reply;
    const auto s = stub.Unary(&context, query(ask, code, key + "\n" + value), &reply);
    if (ask == "seen") return std::to_string(s.error_code()) + " " + reply.name();
    return std::to_string(s.error_code()) + ", initial " +
           found(context.GetServerInitialMetadata(), key, value) + ", trailing " +
           found(context.GetServerTrailingMetadata(), key, value);
  };
  say(prefix + "sent by a client " + name, call("seen", 0));
  if (key == "grpc-timeout") return;  // with which a server of the original ends its process
  say(prefix + "initial of a server " + name, call("initial", 0));
  say(prefix + "initial of a server that fails " + name, call("initial", 5));
  say(prefix + "trailing of a server " + name, call("trailing", 0));
  say(prefix + "trailing of a server that fails " + name, call("trailing", 5));
}

int run_client(const std::string& port) {
  const auto stub = CallKinds::NewStub(channel_to(port));
  for (const auto& pair : pairs()) carried(*stub, "", pair);
  for (const auto& pair : forbidden()) carried(*stub, "forbidden, ", pair);
  grpc::ClientContext context;
  const auto stream = stub->BidiStream(&context);
  Note note;
  note.set_text(port);
  stream->Write(note);
  stream->Read(&note);
  stream->WritesDone();
  const auto s = stream->Finish();
  say("a proxy that copies all", note.text(), s.error_code(), own(context.GetServerTrailingMetadata()));
  return 0;
}

int run_server() {
  keys_service service;
  return serve_until_sigterm([&](grpc::ServerBuilder& builder) { builder.RegisterService(&service); });
}

const program entry("metadata", {{"server", run_server}, {"client", "PORT", run_client}});

}  // namespace
}  // namespace call_kinds::metadata
