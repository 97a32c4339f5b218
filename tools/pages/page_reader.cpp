#include "tools/pages/page_reader.hpp"

#include "tools/failure.hpp"
#include "tools/terminal_text.hpp"

#include "operator_pages.coracle.hpp"

#include <coracle/client/rest_methods.hpp>
#include <coracle/client/sync_wait.hpp>

#include <google/protobuf/descriptor.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <utility>

namespace coracle::tools::pages {

namespace {

constexpr duration answer_time = std::chrono::seconds(10);

channel_options options_of(const page_address& of) {
  channel_options options = of.where().options();
  options.protocol = call_protocol::rest;
  options.http_version = coracle::http_version::http1;
  const nlohmann::json rule{{"selector", "operator_pages.OperatorPages.Read"},
                            {"get", of.path() + "/json/{name}"}};
  const nlohmann::json rules{{"http", {{"rules", {rule}}}}};
  auto routes = rest_methods::make({operator_pages::Page::descriptor()->file()->service(0)}, rules.dump());
  if (!routes.ok()) throw usage_failure("--path is not a path: " + of.path());
  options.rest = *routes;
  return options;
}

}  // namespace

void page_address::add_to(CLI::App& command) {
  where_.add_to(command);
  command.add_option("--path", path_, "The path of the pages (pages_options::path)")
      ->type_name("PATH")
      ->capture_default_str();
}

std::string page_address::url() const {
  return (where_.plaintext() ? "http://" : "https://") + where_.address() + path_;
}

page_reader::page_reader(const page_address& of)
    : of_(of),
      runtime_(1),
      server_(runtime_, of.where().address(), of.where().credentials(), options_of(of)) {}

nlohmann::json page_reader::read(const std::string& page) {
  operator_pages::Page request;
  request.set_name(page);
  call_options options;
  options.timeout = of_.where().timeout_or(answer_time);
  operator_pages::rpc::OperatorPages::stub stub(server_);
  const auto reply = sync_wait(stub.Read(request, options));
  if (!reply.ok()) {
    const status_code code = reply.status().code();
    const bool closed = code == status_code::permission_denied || code == status_code::unauthenticated;
    throw call_failure(code, "no pages at " + of_.url() + ": " + terminal_text(reply.status().to_string()),
                       closed ? "pages_options::authorize decides who may use them; -H sends a header field"
                              : "with_pages() adds them to a server; --path names another path than /pages");
  }
  auto json = nlohmann::json::parse(reply->data(), nullptr, false);
  if (!json.is_object()) throw failure("the answer of " + of_.url() + " is not that of with_pages()");
  return json;
}

}  // namespace coracle::tools::pages
