#include "console/page_call.hpp"

#include "coracle/base/impl/base64.hpp"
#include "coracle/coro/scope.hpp"
#include "rpc/detail_list.hpp"

#include <google/protobuf/descriptor.h>

#include <utility>

namespace coracle::console {

namespace pb = google::protobuf;

namespace {

// Binary values as base64, which is how the page takes them, too.
services::ordered_json pairs_of(const metadata& from) {
  services::ordered_json pairs = services::ordered_json::array();
  for (const auto& [name, value] : from)
    pairs.push_back({name, name.ends_with("-bin") ? base::padded_base64(value) : std::string(value)});
  return pairs;
}

}  // namespace

page_call::page_call(std::shared_ptr<page> of, std::shared_ptr<page_server> server, std::string name,
                     const pb::MethodDescriptor& method, const call_options& options)
    : page_(std::move(of)),
      server_(std::move(server)),
      name_(std::move(name)),
      method_(method),
      path_("/" + std::string(method.service()->full_name()) + "/" + std::string(method.name())),
      begin_(page_->owner().now()),
      call_(generic_stub(server_->to).bidi(path_.c_str(), options)),
      begun_(page_->owner()) {}

services::ordered_json page_call::event(const char* kind) const {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(page_->owner().now() - begin_);
  return {{"kind", kind}, {"call", name_}, {"ms", static_cast<double>(since.count()) / 1000}};
}

task<> page_call::run(std::shared_ptr<page_call>, std::optional<std::string> first, bool last) {
  scope sending{co_await coro::this_environment()};
  co_await call_.start();
  begun_.set();
  if (first || last) {
    sending_ = true;
    requests_ended_ = last;
    sending.spawn(write(std::move(first), last));
  }
  status outcome;
  if ((co_await call_.wait_for_initial_metadata()).ok()) {
    services::ordered_json headers = event("headers");
    headers["metadata"] = pairs_of(call_.initial_metadata());
    page_->push(headers);
  }
  co_await read_all();
  outcome = co_await call_.finish();
  if (outcome.ok() && !method_.server_streaming() && replies_ != 1)
    outcome = status::unimplemented("the server sent " + std::to_string(replies_) + " replies to " + path_ +
                                    ", which has one");
  sending.request_stop();
  co_await sending.join();
  services::ordered_json end = event("end");
  end["code"] = static_cast<int>(outcome.code());
  end["status"] = name_of(outcome.code());
  end["message"] = outcome.message();
  end["details"] = details(outcome);
  end["trailers"] = pairs_of(call_.trailing_metadata());
  page_->push(end);
  page_->remove_call(name_);
}

task<> page_call::read_all() {
  for (;;) {
    co_await page_->wait_for_room();
    const auto next = co_await call_.next();
    if (!next.ok() || !next->has_value()) co_return;
    ++replies_;
    page_->push(reply((*next)->bytes()));
  }
}

services::ordered_json page_call::reply(const std::string& bytes) const {
  services::ordered_json made = event("message");
  made["bytes"] = bytes.size();
  if (call_.read_compressed()) made["compressed"] = true;
  if (auto json = server_->types.to_json(*method_.output_type(), bytes); json.ok()) {
    made["json"] = std::move(*json);
  } else {
    made["error"] = json.status().message();
    made["base64"] = base::padded_base64(bytes);
  }
  return made;
}

services::ordered_json page_call::details(const status& outcome) const {
  services::ordered_json all = services::ordered_json::array();
  rpc::for_each_detail(outcome.details(), [&](std::string_view type_name, std::string_view bytes) {
    services::ordered_json one{{"type", type_name}};
    const pb::Descriptor* const type = server_->types.find_detail(type_name);
    if (type)
      if (auto json = server_->types.to_json(*type, bytes); json.ok()) one["json"] = std::move(*json);
    if (!one.contains("json")) one["base64"] = base::padded_base64(bytes);
    all.push_back(std::move(one));
  });
  return all;
}

task<> page_call::send(std::optional<std::string> bytes, bool last) {
  if (requests_ended_) throw services::invalid_request("the requests of the call have ended");
  if (sending_) throw services::invalid_request("the message before is still being sent");
  sending_ = true;
  requests_ended_ = last;
  co_await begun_;
  co_await write(std::move(bytes), last);
}

task<> page_call::write(std::optional<std::string> bytes, bool last) {
  // A failure means that the call has ended: its reader has the status.
  if (bytes) {
    services::ordered_json sent = event("sent");
    sent["bytes"] = bytes->size();
    page_->push(sent);
    const bytes_message message(std::move(*bytes));
    if (last) static_cast<void>(co_await call_.write_last(message));
    else static_cast<void>(co_await call_.write(message));
  } else if (last) {
    co_await call_.writes_done();
  }
  sending_ = false;
}

}  // namespace coracle::console
