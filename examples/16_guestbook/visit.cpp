// guestbook_visit ADDRESS [FOLDER]: signs the guest book and reads it.
#include "guestbook.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/tls.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

coracle::task<> visit(guestbook::rpc::Greeter::stub greeter) {
  // A unary call. Its result holds a reply or a status.
  guestbook::SignRequest guest;
  guest.set_name("Ada");
  const auto signed_by_ada = co_await greeter.Sign(guest, coracle::within(5s));
  std::cout << "Sign: " << signed_by_ada.status() << '\n';

  // An error with details.
  const auto nameless = co_await greeter.Sign(guestbook::SignRequest(), coracle::within(5s));
  std::cout << "Sign: " << nameless.status() << '\n';
  const auto reason = coracle::find_detail<coracle::bad_request>(nameless.status());
  if (reason) {
    for (const auto& [field, text] : reason->violations())
      std::cout << "  the field " << field << ' ' << text << '\n';
  }

  // A stream of requests. finish() returns the reply, or the reason if write() failed.
  auto upload = greeter.SignAll(coracle::within(5s));
  for (const char* name : {"Grace", "Barbara", "Frances"}) {
    guest.set_name(name);
    const auto sent = co_await upload.write(guest);
    if (!sent.ok()) break;
  }
  const auto all = co_await upload.finish();
  std::cout << "SignAll: " << all.value().guests() << " guests\n";

  // A stream of replies that takes 400 ms, with a deadline of 250 ms.
  guestbook::ListGuestsRequest slow;
  slow.set_pause_ms(100);
  auto list = greeter.ListGuests(slow, coracle::within(250ms));
  for (;;) {
    const auto next = co_await list.next();
    if (!next.ok()) break;  // the call has failed: finish() has the reason
    const auto& visitor = *next;
    if (!visitor) break;  // the stream has ended
    std::cout << "ListGuests: " << visitor->name() << '\n';
  }
  const auto outcome = co_await list.finish();
  std::cout << "ListGuests: " << coracle::name_of(outcome.code()) << '\n';
}

int main(int argc, char** argv) {
  try {
    const std::string address = argc > 1 ? argv[1] : "127.0.0.1:50051";
    coracle::runtime runtime;
    coracle::channel_credentials credentials = coracle::insecure();
    if (argc > 2) {
      const std::string folder = argv[2];
      coracle::tls::client_options tls;
      tls.cas = {coracle::tls::pem_source::file(folder + "/ca.pem")};  // Default: the CAs of the system.
      tls.certificate = coracle::tls::key_pair::files(folder + "/client.pem", folder + "/client.key");
      credentials = tls;
    }
    coracle::channel channel(runtime, address, credentials);
    coracle::sync_wait(runtime, visit(guestbook::rpc::Greeter::stub(channel)));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "guestbook_visit: " << error.what() << '\n';
    return 1;
  }
}
