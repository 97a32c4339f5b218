// bearer_client: an interceptor puts the token into every call of a channel.
#include "../command_line.hpp"
#include "bearer.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/client/client_interceptor.hpp>
#include <coracle/tls/client_options.hpp>

#include <chrono>
#include <cstdio>
#include <memory>

namespace {

// --8<-- [start:bear]
class bearer_token final : public coracle::client_interceptor {
 public:
  explicit bearer_token(std::string token) : token_(std::move(token)) {}
  coracle::task<coracle::status> intercept(coracle::client_context& call, coracle::next_call next) override {
    call.options().credentials = coracle::call_credentials::bearer(token_);  // refuses to travel in plaintext
    co_return co_await next();
  }

 private:
  std::string token_;
};
// --8<-- [end:bear]

}  // namespace

int main(int argc, char** argv) {
  return examples::run("bearer_client", [&] {
    const examples::command_line line(argc, argv, "ADDRESS --ca=FILE [--token=TOKEN]");
    coracle::tls::client_options tls;
    tls.cas = {coracle::tls::pem_source::file(line.required("ca"))};
    auto token = std::make_shared<bearer_token>(line.option("token").value_or(""));
    coracle::channel_options options;
    options.interceptors = {token};
    const coracle::channel channel(line.words().front(), tls, options);
    const bearer::rpc::Vault::stub vault(channel);
    const bearer::OpenRequest request;
    const auto contents = coracle::sync_wait(vault.Open(request, coracle::within(std::chrono::seconds(20))));
    // value() throws UNAUTHENTICATED.
    std::printf("%s\n", examples::printable(contents.value().text()).c_str());
    return 0;
  });
}
