// page_call: one call of a page, whose headers, replies and status become events.
#pragma once

#include "console/page.hpp"
#include "coracle/client/generic_stub.hpp"

#include <memory>
#include <optional>
#include <string>

namespace coracle::console {

// Lives on the loop of its page. On the wire, a method of any kind is a stream in both directions.
class page_call {
 public:
  page_call(std::shared_ptr<page> of, std::shared_ptr<page_server> server, std::string name,
            const google::protobuf::MethodDescriptor& method, const call_options& options);

  // Makes the call, with the first message if there is one, and returns when it has ended. `self` keeps the
  // call; a root task runs it.
  [[nodiscard]] task<> run(std::shared_ptr<page_call> self, std::optional<std::string> first, bool last);
  // Sends one more message; none if `bytes` is empty. `last` ends the requests. Throws invalid_request if the
  // message before is still being sent, or the requests have ended.
  [[nodiscard]] task<> send(std::optional<std::string> bytes, bool last);
  void cancel() { call_.cancel(); }

  [[nodiscard]] const google::protobuf::Descriptor& input() const noexcept { return *method_.input_type(); }
  [[nodiscard]] const schema& types() const noexcept { return server_->types; }

 private:
  task<> write(std::optional<std::string> bytes, bool last);
  task<> read_all();
  [[nodiscard]] services::ordered_json event(const char* kind) const;
  [[nodiscard]] services::ordered_json reply(const std::string& bytes) const;
  [[nodiscard]] services::ordered_json details(const status& outcome) const;

  std::shared_ptr<page> page_;
  std::shared_ptr<page_server> server_;
  const std::string name_;
  const google::protobuf::MethodDescriptor& method_;
  const std::string path_;
  const time_point begin_;
  bidi_call<bytes_message, bytes_message> call_;
  coracle::event<> begun_;
  bool sending_ = false;
  bool requests_ended_ = false;
  std::size_t replies_ = 0;
};

}  // namespace coracle::console
