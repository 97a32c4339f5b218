// rest_table: the rules of the methods that a channel calls over REST.
#pragma once

#include "coracle/base/result.hpp"
#include "rest/client_request.hpp"
#include "rest/http_rule.hpp"

#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::client {

// The rules of one method in their order, at least one.
class rest_method {
 public:
  rest_method(std::vector<rest::rest_binding> bindings, google::protobuf::MessageFactory& messages)
      : bindings_(std::move(bindings)), messages_(messages) {}

  [[nodiscard]] const rest::rest_binding& first() const noexcept { return bindings_.front(); }
  [[nodiscard]] const google::protobuf::MethodDescriptor& descriptor() const noexcept {
    return first().method();
  }
  [[nodiscard]] std::unique_ptr<google::protobuf::Message> make_request() const;
  [[nodiscard]] std::unique_ptr<google::protobuf::Message> make_reply() const;
  // By the first rule that the values match; otherwise the status is that of the first rule.
  [[nodiscard]] result<rest::client_request> write(const google::protobuf::Message& request) const;

 private:
  std::vector<rest::rest_binding> bindings_;
  google::protobuf::MessageFactory& messages_;
};

// Immutable: threads share it.
class rest_table {
 public:
  // `query`: see rest_methods::make().
  explicit rest_table(std::string_view query);
  [[nodiscard]] status add(const google::protobuf::ServiceDescriptor& service,
                           const rest::http_rule_file& rules);
  // By "/package.Service/Method". Null if there is no rule for it.
  [[nodiscard]] const rest_method* find(std::string_view path) const;
  [[nodiscard]] const std::string& query() const noexcept { return query_; }

 private:
  const std::string query_;
  google::protobuf::DynamicMessageFactory messages_;  // generated classes where there are some
  std::map<std::string, rest_method, std::less<>> methods_;
};

}  // namespace coracle::client
