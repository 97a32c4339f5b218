// expect: a message_sink only receives messages: send a bytes_message or a protobuf class
#include "kinds.coracle.hpp"

#include "coracle/client/generic_stub.hpp"
#include "coracle/rpc/message_sink.hpp"

void use(const coracle::generic_stub& any, coracle::message_sink& sink) {
#ifdef MISUSE
  auto call = any.bidi<coracle::message_sink, coracle::message_sink>("/misuse.Kinds/Converse");
  (void)call.write(sink);
#else
  auto call = any.bidi<coracle::bytes_message, coracle::message_sink>("/misuse.Kinds/Converse");
#endif
  (void)call.read(sink);
}
