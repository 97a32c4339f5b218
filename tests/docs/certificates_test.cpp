// The code of docs/guides/certificates.md.
// --8<-- [start:tls]
#include "coracle/client.hpp"
#include "coracle/server.hpp"
#include "coracle/tls.hpp"

coracle::status listen_with_tls(coracle::server& server, std::string_view address) {
  coracle::tls::server_options options;
  options.certificates = {coracle::tls::key_pair::files("certs/server.pem", "certs/server.key")};
  options.client_cas = {
      coracle::tls::pem_source::file("certs/ca.pem")};  // mTLS: clients must present a certificate
  return server.listen(address, options);
}

coracle::channel channel_with_tls(std::string_view target) {
  coracle::tls::client_options options;
  options.cas = {coracle::tls::pem_source::file("certs/ca.pem")};  // instead of the system's CAs
  options.certificate = coracle::tls::key_pair::files("certs/client.pem", "certs/client.key");  // for mTLS
  return coracle::channel(target, options);
}
// --8<-- [end:tls]

#include <gtest/gtest.h>

namespace certificates_page {
namespace {

TEST(GuideToCertificates, FilesThatDoNotExistFailTheListenAndTheCalls) {
  coracle::server server;
  EXPECT_EQ(listen_with_tls(server, "127.0.0.1:0").code(), coracle::status_code::failed_precondition);
  EXPECT_EQ(channel_with_tls("localhost:50051").state(), coracle::connectivity::idle);
}

}  // namespace
}  // namespace certificates_page
