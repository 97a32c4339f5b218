// bearer_server: an interceptor admits only calls with the right token, so that the handler need not check it.
#include "../command_line.hpp"
#include "bearer.coracle.hpp"

#include <coracle/server.hpp>
#include <coracle/server/access_log.hpp>
#include <coracle/server/authorization.hpp>
#include <coracle/tls/server_options.hpp>

#include <cstdio>

namespace {

class vault final : public bearer::rpc::Vault::service {
  coracle::reply<bearer::Contents> Open(coracle::server_context&, const bearer::OpenRequest&) override {
    bearer::Contents contents;
    contents.set_text("a pearl");
    return contents;
  }
};

// Takes the same time for all wrong tokens of the right length.
bool same(std::string_view a, std::string_view b) {
  unsigned char differ = a.size() != b.size();
  for (std::size_t i = 0; i < b.size(); ++i)
    differ |= static_cast<unsigned char>(b[i] ^ (i < a.size() ? a[i] : 0));
  return differ == 0;
}

// --8<-- [start:check]
// Runs for every method when the request headers have arrived, before the messages.
std::shared_ptr<coracle::server_interceptor> bearers_of(std::string token) {
  return coracle::authorize([expected = "Bearer " + token](const coracle::server_context& context) {
    const auto authorization = context.metadata().find("authorization");
    if (!authorization) return coracle::status::unauthenticated("a bearer token is needed");
    if (!same(*authorization, expected)) return coracle::status::unauthenticated("the token is not valid");
    return coracle::status();
  });
}
// --8<-- [end:check]

}  // namespace

int main(int argc, char** argv) {
  return examples::run("bearer_server", [&] {
    const examples::command_line line(argc, argv, "--port=PORT --cert=FILE --key=FILE --token=TOKEN");
    vault service;
    coracle::server server;
    server.add(service);
    server.add_interceptor(
        std::make_shared<coracle::access_log>(server.owner().log()));  // sees what is refused, too
    server.add_interceptor(bearers_of(line.required("token")));
    // A token in plaintext is anybody's: so TLS.
    coracle::tls::server_options tls;
    tls.certificates = {coracle::tls::key_pair::files(line.required("cert"), line.required("key"))};
    const auto address = "127.0.0.1:" + std::to_string(line.port("port"));
    server.listen(address, tls).throw_if_error();
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();
  });
}
