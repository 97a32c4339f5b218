// The messages between a server and its successor.
#include "server/handover/protocol.hpp"

#include "runtime/kernel/packet_socket.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::server_internal::handover_protocol_test {
namespace {

using handover_protocol::message;
using handover_protocol::parse;
using handover_protocol::sockets_max;
using handover_protocol::write;
using kind = message::kind;

message of(kind type) {
  message m;
  m.type = type;
  return m;
}

TEST(HandoverProtocol, TextsAreTheseAndParseToTheSameMessages) {
  message take = of(kind::take);
  take.number = 1;
  EXPECT_EQ(write(take), "take 1");
  message own = of(kind::socket);
  own.name = {false, "127.0.0.1:0"};
  EXPECT_EQ(write(own), "socket own 127.0.0.1:0");
  message manager = of(kind::socket);
  manager.name = {true, "a name with spaces"};
  EXPECT_EQ(write(manager), "socket manager a name with spaces");
  message end = of(kind::end);
  end.number = 12;
  EXPECT_EQ(write(end), "end 12");
  message refused = of(kind::refused);
  refused.reason = "for a reason";
  EXPECT_EQ(write(refused), "refused for a reason");
  message ready = of(kind::ready);
  EXPECT_EQ(write(ready), "ready");
  ready.indices = {0, 2, sockets_max - 1};
  EXPECT_EQ(write(ready), "ready 0 2 63");
  for (const message& m : {take, own, manager, end, refused, ready, of(kind::ready), of(kind::control),
                           of(kind::go), of(kind::done)}) {
    const auto parsed = parse(write(m));
    ASSERT_TRUE(parsed) << write(m);
    EXPECT_EQ(parsed->type, m.type);
    EXPECT_EQ(parsed->number, m.number);
    EXPECT_EQ(parsed->name, m.name);
    EXPECT_EQ(parsed->reason, m.reason);
    EXPECT_EQ(parsed->indices, m.indices);
  }
}

TEST(HandoverProtocol, MalformedTextsAreNoMessages) {
  for (const std::string text :
       {"",         " ",         "x",         "takes 1",  "take",          "take ",
        "take x",   "take 1 ",   "take 1 1",  "take -1",  "take +1",       "take 99999999999999999999",
        "end",      "end -",     "socket",    "socket x", "socket ours 1", "go ",
        "go 1",     "done 1",    "control 1", "ready ",   "ready x",       "ready 1  2",
        "ready 1 ", "ready 2 1", "ready 1 1", "ready 64", "ready 0,1",     "ready -1"})
    EXPECT_FALSE(parse(text)) << "'" << text << "'";
}

TEST(HandoverProtocol, LongTextsAreCutBelowTheLimitOfAMessage) {
  message refused = of(kind::refused);
  refused.reason = std::string(5000, 'x');
  EXPECT_LE(write(refused).size(), runtime_internal::kernel::packet_bytes_max);
  message ready = of(kind::ready);
  for (std::size_t i = 0; i < sockets_max; ++i) ready.indices.push_back(i);
  EXPECT_LE(write(ready).size(), runtime_internal::kernel::packet_bytes_max);
  EXPECT_EQ(parse(write(ready))->indices.size(), sockets_max);
}

}  // namespace
}  // namespace coracle::server_internal::handover_protocol_test
