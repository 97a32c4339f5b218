#include "tools/proxy/recording_service.hpp"

#include "tools/call/messages.hpp"
#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/option_names.hpp"
#include "tools/terminal_text.hpp"

#include "grpc/reflection/v1/reflection.pb.h"

#include <coracle/coro/scope.hpp>
#include <coracle/runtime/offload.hpp>

#include <google/protobuf/descriptor.pb.h>

#include <cstdio>
#include <optional>
#include <utility>

namespace coracle::tools {

namespace {

bool is_reflection(const std::string& path) { return path.starts_with("/grpc.reflection."); }

// Returns the file names of a reflection reply with definitions, which would be a page of base64 as JSON;
// empty for all other messages.
std::optional<std::string> definitions_in(const std::string& path, const bytes_message& reply) {
  grpc::reflection::v1::ServerReflectionResponse answer;
  if (!is_reflection(path) || !answer.ParseFromString(reply.bytes()) ||
      !answer.has_file_descriptor_response())
    return std::nullopt;
  std::string text = "definitions of " + std::to_string(reply.bytes().size()) + " bytes:";
  for (const std::string& bytes : answer.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    text += " " + (file.ParseFromString(bytes) ? file.name() : "(not a valid file)");
  }
  return text;
}

}  // namespace

recording_service::recording_service(session& at, recorder* recording, bool shows_reflection)
    : at_(at), shows_reflection_(shows_reflection), recording_(recording), next_(at.server()) {}

replies<bytes_message> recording_service::call(server_context& context, reader<bytes_message> requests) {
  call_record c;
  c.path = std::string(context.method());
  if (context.deadline() != never) c.timeout = context.deadline() - coro::this_executor().now();
  co_await offload([&] { record_begin(c, context); });
  call_options options;
  options.metadata.add_all(context.metadata());
  options.content_subtype = context.content_subtype();
  onward_call onward = next_.bidi(c.path.c_str(), options);
  scope work{context.environment()};
  work.spawn(pass_on(requests, onward, c));

  auto writer = co_await replies<bytes_message>::writer();
  // No exception leaves the handler from here on: `work` has to be joined. A client may wait for the headers
  // before it sends anything.
  const status head = co_await onward.wait_for_initial_metadata();
  if (head.ok()) {
    context.initial_metadata().add_all(onward.initial_metadata());
    context.send_initial_metadata();
  }
  try {
    while (true) {
      const auto one = co_await onward.next();
      if (!one.ok() || !*one) break;
      const bytes_message& bytes = **one;
      co_await offload([&] { reply(c, bytes); });
      co_await writer.write(bytes);
    }
  } catch (const call_ended&) {
    // The client's call has ended, and the handler is stopped.
  }
  const status outcome = co_await onward.finish();
  work.request_stop();
  co_await work.join();
  context.trailing_metadata().add_all(onward.trailing_metadata());
  record_end(c, outcome);
  co_return outcome;
}

task<> recording_service::pass_on(reader<bytes_message>& requests, onward_call& onward,
                                  const call_record& c) {
  bytes_message one;
  try {
    while (co_await requests.read(one)) {
      co_await offload([&] { request(c, one); });
      const status sent = co_await onward.write(one);
      if (!sent.ok()) co_return;  // the onward call has ended: finish() has its status
    }
    co_await onward.writes_done();
  } catch (const call_ended&) {
    // The client's call has ended, and the handler is stopped.
  }
}

duration recording_service::now() const {
  return std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - began_);
}

// Calls continue if the file cannot be written: their callers are not affected.
template <class Write>
void recording_service::record(Write write) {
  if (recording_) try {
      write(*recording_);
    } catch (const failure& error) {
      recording_ = nullptr;
      lost_ = true;
      print_warning(std::string(error.what()) + "; calls are still forwarded, but no longer recorded");
    }
}

// Null without a definition: messages are then printed in bytes. Other calls wait meanwhile, so a server
// whose reflection does not answer is queried only once.
const google::protobuf::MethodDescriptor* recording_service::definition_of(const std::string& path) {
  const duration asked = now();
  try {
    return at_.types().find_method(path);
  } catch (const failure& error) {
    definitions_are_slow_ = now() - asked > patience;
    if (definitions_are_slow_)
      print_warning(std::string(error.what()) + "; it is not queried again: messages are shown in bytes");
    return nullptr;
  }
}

void recording_service::record_begin(call_record& c, server_context& context) {
  if (is_reflection(c.path) && !shows_reflection_) return;
  const std::lock_guard lock(mutex_);
  c.number = ++calls_;
  if (!definitions_are_slow_) c.method = definition_of(c.path);
  const duration at = now();
  record([&](recorder& to) {
    recorded_call begun;
    begun.number = c.number;
    begun.at = at;
    begun.path = c.path;
    begun.content_subtype = std::string(context.content_subtype());
    begun.timeout = c.timeout;
    to.call(begun, context.metadata());
  });
  print(c, at, c.path + " from " + context.peer().to_string());
}

void recording_service::request(const call_record& c, const bytes_message& m) {
  if (c.number == 0) return;
  const std::lock_guard lock(mutex_);
  const duration at = now();
  record([&](recorder& to) { to.request(c.number, at, m.bytes()); });
  std::string text = std::to_string(m.bytes().size()) + " bytes";
  if (c.method) try {
      text = messages(at_.types(), *c.method).requests->text(m.bytes(), false);
    } catch (const failure& error) {
      text += ": " + std::string(error.what());
    }
  print(c, at, "> " + text);
}

void recording_service::reply(const call_record& c, const bytes_message& m) {
  if (c.number == 0) return;
  const std::lock_guard lock(mutex_);
  const duration at = now();
  record([&](recorder& to) { to.reply(c.number, at, m.bytes()); });
  std::string text = std::to_string(m.bytes().size()) + " bytes";
  if (const auto definitions = definitions_in(c.path, m)) {
    text = *definitions;
  } else if (c.method) try {
      text = messages(at_.types(), *c.method).replies->text(m.bytes(), false);
    } catch (const failure& error) {
      text += ": " + std::string(error.what());
    }
  print(c, at, "< " + text);
}

void recording_service::record_end(const call_record& c, const status& outcome) {
  if (c.number == 0) return;
  const std::lock_guard lock(mutex_);
  const duration at = now();
  record([&](recorder& to) { to.end(c.number, at, static_cast<int>(outcome.code())); });
  print(c, at, outcome.to_string());
}

void recording_service::print(const call_record& c, duration at, const std::string& text) {
  const double seconds = std::chrono::duration<double>(at).count();
  std::printf("%10.3f #%llu %s\n", seconds, static_cast<unsigned long long>(c.number),
              terminal_line(with_option_names(text)).c_str());
  std::fflush(stdout);
}

}  // namespace coracle::tools
