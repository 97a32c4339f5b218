#include "console/page.hpp"

#include "console/page_call.hpp"
#include "coracle/coro/with_timeout.hpp"

#include <algorithm>
#include <utility>

namespace coracle::console {

void page::push(const services::ordered_json& event) {
  if (closed_) return;
  events_.push_back("data: " + services::text_of(event) + "\n\n");
  waiting_bytes_ += events_.back().size();
  arrived_.set();
}

task<> page::wait_for_room() {
  while (!closed_ && waiting_bytes_ >= waiting_bytes_max) {
    room_.reset();
    co_await room_;
  }
}

task<> page::wait_for_events() { co_await arrived_; }

task<std::string> page::next() {
  while (!closed_ && events_.empty()) {
    arrived_.reset();
    if (!(co_await with_timeout(silence_max, wait_for_events())).ok()) co_return ":\n\n";
  }
  if (closed_) co_return std::string();
  std::string text = std::move(events_.front());
  events_.pop_front();
  waiting_bytes_ -= text.size();
  room_.set();
  co_return text;
}

void page::close() {
  if (std::exchange(closed_, true)) return;
  arrived_.set();
  room_.set();
  const auto calls = std::move(calls_);
  for (const auto& [name, call] : calls) call->cancel();
}

std::string page::add_server(std::shared_ptr<page_server> server) {
  if (servers_.size() == servers_max) servers_.pop_front();
  servers_.emplace_back(std::to_string(++servers_made_), std::move(server));
  return servers_.back().first;
}

std::shared_ptr<page_server> page::server(const std::string& name) const {
  for (const auto& [known, server] : servers_)
    if (known == name) return server;
  throw services::invalid_request("the page is not connected to a server: connect again");
}

std::shared_ptr<page_call> page::call(const std::string& name) const {
  const auto found = calls_.find(name);
  if (found == calls_.end()) throw services::invalid_request("the call has ended");
  return found->second;
}

void page::add_call(const std::string& name, std::shared_ptr<page_call> call) {
  if (closed_) throw services::invalid_request("the page was closed: load it again");
  if (calls_.size() >= calls_max)
    throw services::invalid_request("the page has " + std::to_string(calls_max) +
                                    " calls that run: cancel some");
  if (!calls_.emplace(name, std::move(call)).second)
    throw services::invalid_request("the name of the call is taken");
}

}  // namespace coracle::console
