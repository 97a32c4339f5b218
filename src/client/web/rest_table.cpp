#include "client/web/rest_table.hpp"

#include "coracle/client/rest_methods.hpp"

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::client {

using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

std::unique_ptr<google::protobuf::Message> rest_method::make_request() const {
  return std::unique_ptr<google::protobuf::Message>(messages_.GetPrototype(descriptor().input_type())->New());
}

std::unique_ptr<google::protobuf::Message> rest_method::make_reply() const {
  return std::unique_ptr<google::protobuf::Message>(
      messages_.GetPrototype(descriptor().output_type())->New());
}

result<rest::client_request> rest_method::write(const google::protobuf::Message& request) const {
  auto first = rest::write_client_request(bindings_.front(), request);
  for (std::size_t i = 1; !first.ok() && i < bindings_.size(); ++i)
    if (auto other = rest::write_client_request(bindings_[i], request); other.ok()) return other;
  return first;
}

rest_table::rest_table(std::string_view query) : query_(query) {
  messages_.SetDelegateToGeneratedFactory(true);
}

status rest_table::add(const ServiceDescriptor& service, const rest::http_rule_file& file) {
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    std::vector<rest::http_rule> rules;
    if (const auto* const of_file = file.find(std::string(method.full_name()))) {
      rules = *of_file;
    } else {
      auto own = rest::http_rules_of(method);
      if (!own.ok()) return own.status();
      rules = *std::move(own);
    }
    std::vector<rest::rest_binding> bindings;
    for (rest::http_rule& rule : rules) {
      auto made = rest::rest_binding::make(method, std::move(rule));
      if (!made.ok()) return made.status();
      bindings.push_back(*std::move(made));
    }
    if (bindings.empty()) continue;
    methods_.emplace("/" + std::string(service.full_name()) + "/" + std::string(method.name()),
                     rest_method(std::move(bindings), messages_));
  }
  return {};
}

const rest_method* rest_table::find(std::string_view path) const {
  const auto found = methods_.find(path);
  return found == methods_.end() ? nullptr : &found->second;
}

}  // namespace coracle::client

namespace coracle {

namespace {

// RFC 3986 3.4.
constexpr std::string_view query_characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%!$&'()*+,;=:@/?";

}  // namespace

result<rest_methods> rest_methods::make(std::span<const google::protobuf::ServiceDescriptor* const> services,
                                        std::string_view http_rules, std::string_view query) {
  if (const std::size_t at = query.find_first_not_of(query_characters); at != query.npos)
    return status::invalid_argument("rest_methods::make(): the character at " + std::to_string(at) +
                                    " of the query has to be escaped");
  rest::http_rule_file file;
  if (!http_rules.empty()) {
    auto parsed = rest::http_rule_file::parse(http_rules);
    if (!parsed.ok()) return parsed.status();
    file = *std::move(parsed);
  }
  const auto table = std::make_shared<client::rest_table>(query);
  for (const google::protobuf::ServiceDescriptor* const service : services)
    if (status failed = table->add(*service, file); !failed.ok()) return failed;
  for (const auto& [name, rules] : file.methods())
    if (!table->find("/" + std::string(name).replace(name.rfind('.'), 1, "/")))
      return status::invalid_argument("the HTTP rules select " + name + ", which no service has");
  rest_methods made;
  made.table_ = table;
  return made;
}

bool rest_methods::contains(std::string_view path) const noexcept { return table_ && table_->find(path); }

}  // namespace coracle
