#include "tools/schema/reflected.hpp"

#include "tools/failure.hpp"

#include "grpc/reflection/v1/reflection.pb.h"

#include <coracle/client/generic_stub.hpp>
#include <coracle/client/sync_wait.hpp>
#include <coracle/coro/with_timeout.hpp>

#include <google/protobuf/descriptor.pb.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;
namespace wire = grpc::reflection::v1;

// The messages of v1alpha have the same wire format.
constexpr const char* paths[] = {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                                 "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};

using reflection_call = bidi_call<wire::ServerReflectionRequest, wire::ServerReflectionResponse>;

// Names are strings for older versions of protobuf, and views for newer ones.
template <class Function>
struct first_argument;
template <class Argument>
struct first_argument<bool (pb::DescriptorDatabase::*)(Argument, pb::FileDescriptorProto*)> {
  using type = Argument;
};
using name_argument = first_argument<decltype(&pb::DescriptorDatabase::FindFileByName)>::type;

class reflected_definitions final : public definitions, private pb::DescriptorDatabase {
 public:
  reflected_definitions(const channel& server, const endpoint& where, metadata headers)
      : stub_(server), where_(where), headers_(std::move(headers)) {}
  reflected_definitions(const reflected_definitions&) = delete;
  reflected_definitions& operator=(const reflected_definitions&) = delete;
  // Ends the call properly: the server and a proxy would count and record a dropped call as CANCELLED.
  ~reflected_definitions() override {
    if (!call_) return;
    loop& owner_loop = call_->writes_done().blocking_loop();
    sync_wait(owner_loop.owner(), owner_loop, close_call(*call_));
  }

  std::vector<std::string> services() override {
    wire::ServerReflectionRequest question;
    question.set_list_services("*");
    const auto answer = ask(question);
    std::vector<std::string> names;
    for (const auto& one : answer.list_services_response().service()) names.push_back(one.name());
    return names;
  }
  pb::DescriptorDatabase& files() override { return *this; }
  std::string errors() const override { return errors_; }

 private:
  static constexpr std::string_view instead = "; define its services with --proto FILE or --protoset FILE";
  static constexpr duration close_time = std::chrono::seconds(1);
  static task<> close_call(reflection_call& call) {
    co_await call.writes_done();
    co_await with_timeout(close_time, call.finish());
  }

  // pb::DescriptorDatabase
  bool FindFileByName(name_argument file, pb::FileDescriptorProto* to) override {
    const std::lock_guard lock(mutex_);
    const std::string name(file);
    if (give(name, to)) return true;
    wire::ServerReflectionRequest question;
    question.set_file_by_filename(name);
    return take(question) && give(name, to);
  }
  bool FindFileContainingSymbol(name_argument symbol, pb::FileDescriptorProto* to) override {
    const std::lock_guard lock(mutex_);
    wire::ServerReflectionRequest question;
    question.set_file_containing_symbol(std::string(symbol));
    const auto name = take(question);
    return name && give(*name, to);
  }
  bool FindFileContainingExtension(name_argument type, int number, pb::FileDescriptorProto* to) override {
    const std::lock_guard lock(mutex_);
    wire::ServerReflectionRequest question;
    question.mutable_file_containing_extension()->set_containing_type(std::string(type));
    question.mutable_file_containing_extension()->set_extension_number(number);
    const auto name = take(question);
    return name && give(*name, to);
  }

  bool give(const std::string& name, pb::FileDescriptorProto* to) {
    const auto found = files_.find(name);
    if (found == files_.end()) return false;
    *to = found->second;
    return true;
  }

  // Keeps the files of the answer; returns the name of the requested file, which is the first.
  std::optional<std::string> take(const wire::ServerReflectionRequest& question) {
    const auto answer = ask(question);
    if (answer.has_error_response()) {
      errors_ = answer.error_response().error_message();
      return std::nullopt;
    }
    std::optional<std::string> first;
    for (const std::string& bytes : answer.file_descriptor_response().file_descriptor_proto()) {
      pb::FileDescriptorProto file;
      if (!file.ParseFromString(bytes))
        throw failure("the server's reflection sent an invalid file descriptor");
      if (files_.size() == reflected_files_max)
        throw failure("the server's reflection sent more than " + std::to_string(reflected_files_max) +
                      " files" + std::string(instead));
      if ((bytes_ += bytes.size()) > reflected_bytes_max)
        throw failure("the server's reflection sent more than " + std::to_string(reflected_bytes_max) +
                      " bytes of definitions, the last of them the " + std::to_string(bytes.size()) +
                      " bytes of " + file.name() + std::string(instead));
      if (!first) first = file.name();
      forget_usual_json_names(file);
      files_.insert_or_assign(file.name(), std::move(file));
    }
    return first;
  }

  wire::ServerReflectionResponse ask(const wire::ServerReflectionRequest& question) {
    while (version_ < std::size(paths)) {
      // A call that is idle between two requests for longer than its timeout is replaced below.
      call_options compressed = within(where_.timeout_or(reflection_time));
      compressed.compression = encoding::identity;
      compressed.metadata.add_all(headers_);
      if (!call_)
        call_.emplace(stub_.bidi<wire::ServerReflectionRequest, wire::ServerReflectionResponse>(
            paths[version_], compressed));
      const status sent = sync_wait(call_->write(question));
      auto answer = sync_wait(call_->next());
      if (answer.ok() && answer->has_value()) {
        spoken_ = true;
        return std::move(**answer);
      }
      const status outcome = answer.ok() ? sync_wait(call_->finish()) : answer.status();
      call_.reset();
      // A server may end the call after an answer; continue with a new call.
      if (std::exchange(spoken_, false)) continue;
      if (outcome.code() != status_code::unimplemented) throw_reflection_error(outcome, sent);
      ++version_;
    }
    throw no_reflection("the server has no reflection" + std::string(instead));
  }

  [[noreturn]] void throw_reflection_error(const status& outcome, const status& sent) const {
    const std::string hint = where_.hint(outcome);
    const status& cause = outcome.ok() ? sent : outcome;
    const std::string text = "the server's reflection failed: " + cause.to_string();
    if (cause.ok()) throw failure(text, hint);
    throw call_failure(cause.code(), text, hint);
  }

  generic_stub stub_;
  const endpoint& where_;
  const metadata headers_;
  std::mutex mutex_;
  std::optional<reflection_call> call_;
  std::size_t version_ = 0;
  bool spoken_ = false;
  std::map<std::string, pb::FileDescriptorProto> files_;
  std::size_t bytes_ = 0;
  std::string errors_;
};

}  // namespace

std::unique_ptr<definitions> reflected(const channel& server, const endpoint& where, metadata headers) {
  return std::make_unique<reflected_definitions>(server, where, std::move(headers));
}

}  // namespace coracle::tools
