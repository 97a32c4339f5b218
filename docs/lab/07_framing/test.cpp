#include "framing.hpp"

#include "../lab.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

using namespace std::string_view_literals;
using lab::expect;

// What a reader returns when the bytes arrive in two pieces; '|' ends each message.
std::string read_in_two(std::string_view bytes, std::size_t split) {
  lab::frame_reader reader(1000);
  std::string read;
  for (const std::string_view piece : {bytes.substr(0, split), bytes.substr(split)}) {
    reader.feed(piece);
    while (const std::optional<std::string> message = reader.next()) read += *message + '|';
  }
  return reader.is_inside_a_message() ? read + " and a part" : read;
}

bool is_refused(lab::frame_reader& reader) {
  try {
    static_cast<void>(reader.next());
  } catch (const lab::framing_error&) {
    return true;
  }
  return false;
}

void test() {
  expect(lab::big_endian(0x01020304) == "\x01\x02\x03\x04"sv, "the most significant byte comes first");
  expect(lab::from_big_endian("\x80\x00\x00\xff"sv) == 0x800000ffu, "bytes above 127 are read right");
  expect(lab::frame("hi") == "\0\0\0\0\2hi"sv, "a frame has a flag, a length and the message");
  expect(lab::frame("") == "\0\0\0\0\0"sv, "a message may be empty");

  const std::string bytes = lab::frame("first") + lab::frame("") + lab::frame(std::string(300, 'x'));
  const std::string messages = "first||" + std::string(300, 'x') + '|';
  bool all = true;
  for (std::size_t split = 0; split <= bytes.size(); ++split)
    all = all && read_in_two(bytes, split) == messages;
  expect(all, "the same messages come out, wherever the bytes are split");

  lab::frame_reader reader(10);
  reader.feed(lab::frame("0123456789"));
  const std::optional<std::string> largest = reader.next();
  expect(largest == "0123456789", "a message as large as the limit is read");
  reader.feed(lab::frame("part").substr(0, 7));
  const std::optional<std::string> part = reader.next();
  expect(!part && reader.is_inside_a_message(), "a part of a message is kept");

  lab::frame_reader limited(10);
  limited.feed(lab::frame("0123456789+").substr(0, 4));
  const std::optional<std::string> none = limited.next();
  expect(!none, "nothing is refused before the length is known");
  limited.feed("\x0b"sv);
  expect(is_refused(limited), "a message above the limit is refused before its bytes arrive");

  lab::frame_reader flagged(10);
  flagged.feed("\1\0\0\0\0"sv);
  expect(is_refused(flagged), "an unknown flag is refused");
}

int main() { return lab::run_test(test); }
