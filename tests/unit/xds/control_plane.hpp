// control_plane: a control plane on a server of ours, for tests.
#pragma once

#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/server/generic_service.hpp"
#include "unit/xds/resource_builders.hpp"
#include "xds/wire/load_stats.pb.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace coracle::xds::testing_resources {

// Sends each stream the resources that it has asked for, and again when they change.
class control_plane final : public generic_service {
 public:
  replies<bytes_message> call(server_context& context, reader<bytes_message> requests) override {
    auto out = co_await replies<bytes_message>::writer();
    if (const auto token = context.metadata().find("authorization")) tokens.emplace_back(*token);
    if (context.method().ends_with("/StreamLoadStats")) {
      ++load_streams;
      if (!takes_loads) co_return status::unimplemented("as the test wants");
      wire::LoadStatsResponse wanted;
      wanted.mutable_load_reporting_interval()->set_seconds(load_interval_s);
      wanted.set_send_all_clusters(loads_wanted.empty());
      for (const std::string& name : loads_wanted) wanted.add_clusters(name);
      const bytes_message reply(wanted.SerializeAsString());
      co_await out.write(reply);
      bytes_message bytes;
      while (co_await requests.read(bytes)) {
        wire::LoadStatsRequest r;
        EXPECT_TRUE(r.ParseFromString(std::string(bytes.bytes())));
        load_requests.push_back(std::move(r));
        if (load_requests.size() == ends_load_stream_after)
          co_return status::unavailable("as the test wants");
      }
      co_return coracle::ok;
    }
    stream s;
    const member of(*this, s);
    scope both{co_await coro::this_environment()};
    both.spawn(listen(requests, s));
    both.spawn(send(out, s));
    co_await both.join();
    co_return coracle::ok;
  }

  template <class Message>
  void offer(resource_kind kind, const std::string& name, const Message& m) {
    const std::string type = type_url(kind);
    resources_[type][name] = packed(type_name(kind), m);
    change(type);
  }
  void take_back(resource_kind kind, const std::string& name) {
    const std::string type = type_url(kind);
    resources_[type].erase(name);
    change(type);
  }
  [[nodiscard]] std::size_t streams() const { return streams_.size(); }

  std::vector<std::string> tokens;  // of streams that had one
  std::vector<std::string> rejections;  // what clients have said of resources that are invalid

  bool takes_loads = true;
  std::set<std::string> loads_wanted;  // empty: of all clusters
  int load_interval_s = 10;
  std::size_t ends_load_stream_after = 0;  // requests; 0: never
  int load_streams = 0;
  std::vector<wire::LoadStatsRequest> load_requests;

 private:
  struct stream {
    std::map<std::string, std::set<std::string>> names;
    std::map<std::string, bool> due;
    event<> next;
    bool ended = false;
  };

  // A call that is cancelled leaves, too.
  class member {
   public:
    member(control_plane& of, stream& s) : of_(of), s_(s) { of_.streams_.insert(&s_); }
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    ~member() { of_.streams_.erase(&s_); }

   private:
    control_plane& of_;
    stream& s_;
  };

  void change(const std::string& type) {
    ++version_;
    for (stream* const s : streams_) {
      s->due[type] = true;
      s->next.set();
    }
  }
  task<> listen(reader<bytes_message>& requests, stream& s) {
    bytes_message bytes;
    while (co_await requests.read(bytes)) {
      wire::DiscoveryRequest r;
      EXPECT_TRUE(r.ParseFromString(std::string(bytes.bytes())));
      if (!r.error_detail().message().empty()) rejections.push_back(r.error_detail().message());
      const std::set<std::string> names(r.resource_names().begin(), r.resource_names().end());
      if (s.names[r.type_url()] == names) continue;
      s.names[r.type_url()] = names;
      s.due[r.type_url()] = true;
      s.next.set();
    }
    s.ended = true;
    s.next.set();
  }
  template <class Writer>
  task<> send(Writer& out, stream& s) {
    while (!s.ended) {
      s.next.reset();
      for (auto& [type, due] : s.due) {
        if (!std::exchange(due, false)) continue;
        wire::DiscoveryResponse response;
        response.set_type_url(type);
        response.set_version_info(std::to_string(version_));
        response.set_nonce(std::to_string(++nonce_));
        for (const auto& [name, any] : resources_[type])
          if (s.names[type].contains(name)) *response.add_resources() = any;
        const bytes_message reply(response.SerializeAsString());
        co_await out.write(reply);
      }
      co_await s.next;
    }
  }

  std::map<std::string, std::map<std::string, google::protobuf::Any>> resources_;
  std::set<stream*> streams_;
  int version_ = 0;
  int nonce_ = 0;
};

}  // namespace coracle::xds::testing_resources
