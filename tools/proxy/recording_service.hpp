// recording_service: a service that forwards every call and prints it.
#pragma once

#include "tools/proxy/recording.hpp"
#include "tools/schema/session.hpp"

#include <coracle/client/generic_stub.hpp>
#include <coracle/server.hpp>
#include <coracle/server/generic_service.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace coracle::tools {

// Prints calls to stdout, as JSON if the types are known, otherwise in bytes; records them if there is a
// recorder. Calls of reflection pass through without either, unless they are shown. Deadline, cancellation,
// metadata, status and trailers pass through.
class recording_service final : public generic_service {
 public:
  // Both arguments must outlive this object; `recording` may be null.
  recording_service(session& at, recorder* recording, bool shows_reflection);
  replies<bytes_message> call(server_context& context, reader<bytes_message> requests) override;
  // Something was not recorded. Call it when no call is running.
  [[nodiscard]] bool lost() const noexcept { return lost_; }

 private:
  static constexpr duration patience = std::chrono::seconds(1);  // then reflection counts as failed
  using onward_call = bidi_call<bytes_message, bytes_message>;
  // The state of one call.
  struct call_record {
    std::uint64_t number = 0;  // 0: neither printed nor recorded
    std::string path;
    duration timeout = duration::max();
    const google::protobuf::MethodDescriptor* method = nullptr;  // null: unknown
  };
  task<> pass_on(reader<bytes_message>& requests, onward_call& onward, const call_record& c);

  template <class Write>
  void record(Write write);  // requires the lock

  [[nodiscard]] const google::protobuf::MethodDescriptor* definition_of(const std::string& path);

  // These may block, so they do not run on the loop.
  void record_begin(call_record& c, server_context& context);
  void request(const call_record& c, const bytes_message& m);
  void reply(const call_record& c, const bytes_message& m);
  void record_end(const call_record& c, const status& outcome);

  [[nodiscard]] duration now() const;
  void print(const call_record& c, duration at, const std::string& text);

  session& at_;
  const bool shows_reflection_;
  recorder* recording_;  // also null after it could not be written
  bool lost_ = false;
  bool definitions_are_slow_ = false;
  generic_stub next_;
  std::mutex mutex_;  // protects the output
  std::uint64_t calls_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace coracle::tools
