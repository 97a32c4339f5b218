#include "rpc/plain_json.hpp"

#include "rest_kinds.pb.h"
#include "rpc/json_mapping.hpp"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::rpc::plain_json_test {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using rest_kinds::Book;
using rest_kinds::Everything;

bool equal(const Message& a, const Message& b) {
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

// Fills messages with values that mappings like to get wrong.
class generator {
 public:
  explicit generator(std::uint32_t seed) : random_(seed) {}
  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }

  // `plain`: only what the fast path handles both ways.
  void fill(Message& m, bool plain, int depth = 0) {
    const Reflection& r = *m.GetReflection();
    for (int i = 0; i < m.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& f = *m.GetDescriptor()->field(i);
      if (below(4) != 0 || f.is_map()) continue;
      const bool message = f.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
      if (message && (depth == 3 || f.message_type()->file() != m.GetDescriptor()->file())) continue;
      const bool real =
          f.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE || f.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
      if (plain && real) continue;
      for (std::size_t n = f.is_repeated() ? below(4) : 1; n > 0; --n) put(r, m, f, plain, depth);
    }
  }

 private:
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }
  std::string text(bool plain) {
    if (plain) return pick<std::string>({"", "a", "two words", "0", "true", "{}[]:,", "a/b?c=d"});
    return pick<std::string>(
        {"<b>", "\"", "\\", "\n", "\x01", "\x7f", "\u00fc", "\U0001f600", "\u2028", "it's", "&"});
  }
  void put(const Reflection& r, Message& m, const FieldDescriptor& f, bool plain, int depth) {
    const bool many = f.is_repeated();
    switch (f.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32: {
        const auto n = pick<std::int32_t>({0, 1, -1, INT32_MIN, INT32_MAX, 42});
        return many ? r.AddInt32(&m, &f, n) : r.SetInt32(&m, &f, n);
      }
      case FieldDescriptor::CPPTYPE_UINT32:
        return r.SetUInt32(&m, &f, pick<std::uint32_t>({0, 7, UINT32_MAX}));
      case FieldDescriptor::CPPTYPE_INT64:
        return r.SetInt64(&m, &f, pick<std::int64_t>({0, -1, INT64_MIN, INT64_MAX}));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r.SetUInt64(&m, &f, pick<std::uint64_t>({0, 9, UINT64_MAX}));
      case FieldDescriptor::CPPTYPE_BOOL: return r.SetBool(&m, &f, below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM: {
        const int n = pick({0, 1, 2, 77});
        return many ? r.AddEnumValue(&m, &f, n) : r.SetEnumValue(&m, &f, n);
      }
      case FieldDescriptor::CPPTYPE_DOUBLE: return r.SetDouble(&m, &f, pick({0.1, -1e300, 3.0}));
      case FieldDescriptor::CPPTYPE_FLOAT: return r.SetFloat(&m, &f, 0.5F);
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string s = text(plain || f.type() == FieldDescriptor::TYPE_BYTES);
        return many ? r.AddString(&m, &f, s) : r.SetString(&m, &f, s);
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return fill(many ? *r.AddMessage(&m, &f) : *r.MutableMessage(&m, &f), plain, depth + 1);
    }
  }
  std::mt19937 random_;
};

std::string by_protobuf(const Message& m) {
  std::string text;
  EXPECT_EQ(write_json_by_protobuf(m, text), status());
  return text;
}

TEST(PlainJson, WritesWhatProtobufsMappingWrites) {
  int plain = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    generator values(seed);
    Everything m;
    values.fill(m, seed % 2 == 0);
    std::string text = "before";
    if (!write_plain_json(m, text)) {
      EXPECT_EQ(text, "before");
      EXPECT_NE(seed % 2, 0u) << by_protobuf(m);
      continue;
    }
    ++plain;
    EXPECT_EQ(text, "before" + by_protobuf(m));
  }
  EXPECT_GE(plain, 1000);
}

// Texts that protobuf wrote, and mutations of them, most of which are errors.
TEST(PlainJson, ReadsWhatProtobufsMappingReads) {
  constexpr std::string_view inserted = "\"{}[]:,0-1.eE \n\\/\x01\x7f\xc3\xbcntf<";
  int plain = 0;
  int refused = 0;
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    generator values(seed);
    Everything written;
    values.fill(written, seed % 2 == 0);
    std::string text = by_protobuf(written);
    for (std::size_t n = values.below(3); n > 0; --n) {
      const std::size_t at = values.below(text.size());
      if (values.below(2) == 0) text.insert(at, 1, inserted[values.below(inserted.size())]);
      else text.erase(at, 1 + values.below(4));
      if (text.empty()) text = "{}";
    }
    Everything fast;
    fast.set_word("old");
    if (!read_plain_json(fast, text)) {
      ++refused;
      continue;
    }
    ++plain;
    for (const bool ignore : {false, true}) {
      Everything slow;
      ASSERT_EQ(read_json_by_protobuf(slow, text, {.ignore_unknown_fields = ignore}), status()) << text;
      EXPECT_TRUE(equal(fast, slow)) << text;
    }
  }
  EXPECT_GE(plain, 500);
  EXPECT_GE(refused, 500);
}

constexpr std::string_view forms[] = {
    R"({})",
    " { } ",
    R"({"int32Value":-7,"int64_value":"-7","uint64Value":18446744073709551615})",
    R"({"int32Value":"7","boolValue":true,"enumValue":"HARDCOVER","bindings":["PAPERBACK"]})",
    "{\"names\" : [ \"a\" , \"\u00fc\" ] ,\n\t\"numbers\":[] }",
    R"({"renamed":"x","optionalNumber":0})",
    R"({"other_name":"x","book":{"author":{"firstBook":{}}},"books":[{},{"tags":["t"]}]})",
    R"({"doubleValue":1,"floatValue":-0.5})",
    R"({"doubleValue":-1.7976931348623157e308,"floatValue":1E-3})",
    R"({"doubleValue":123456789012345,"floatValue":16777217,"doubleWrapper":0.1})",
    R"({"doubleValue":-0.0})",
    R"({"stringValue":"\n\"\\\/\b\f\r\t\u00fc\ud83d\uDE00\u0000","names":["a\u0062cü"]})",
    R"({"int32Value":null,"numbers":null,"book":null,"time":null,"int32Wrapper":null,"boolValue":true})",
    R"({"bytesValue":"","bytesWrapper":"YQ=="})",
    R"({"bytesValue":"//+/"})",
    R"({"enumValue":1,"bindings":[2,0]})",
    R"({"time":"1970-01-01T00:00:00Z","times":["0001-01-01T00:00:00Z","9999-12-31T23:59:59.999999999Z"]})",
    R"({"times":["2024-02-29T12:34:56.7Z","2000-02-29T00:00:00.000001Z","1969-12-31T23:59:59.5Z"]})",
    R"({"flags":{"1":true,"-9223372036854775808":false},"book":{"stock":{"":1,"a b":-2}}})",
    R"({"shelf":{"a":{"year":1},"b":{"stock":{}}},"flags":{}})",
    R"({"int32Wrapper":5,"stringWrapper":"s","boolWrapper":false,"int64Wrappers":["1",2]})"};

TEST(PlainJson, ReadsTheFormsOfItsKinds) {
  for (const std::string_view text : forms) {
    Everything fast;
    EXPECT_TRUE(read_plain_json(fast, text)) << text;
    Everything slow;
    EXPECT_EQ(read_json_by_protobuf(slow, text), status()) << text;
    EXPECT_TRUE(equal(fast, slow)) << text;
  }
}

// Each form with one to three changes.
TEST(PlainJson, ReadsMutationsOfItsFormsAsProtobufsMappingDoes) {
  constexpr std::string_view inserted = "\"{}[]:,0-1.59eETZ \n\\/u\xc3\xbcnl=+";
  generator values(1);
  int plain = 0;
  for (int round = 0; round < 1000; ++round)
    for (const std::string_view form : forms) {
      std::string text(form);
      for (std::size_t n = 1 + values.below(3); n > 0; --n) {
        const std::size_t at = values.below(text.size());
        const char c = inserted[values.below(inserted.size())];
        switch (values.below(3)) {
          case 0: text.insert(at, 1, c); break;
          case 1: text[at] = c; break;
          default: text.erase(at, 1); break;
        }
        if (text.empty()) text = "{}";
      }
      Everything fast;
      if (!read_plain_json(fast, text)) continue;
      ++plain;
      Everything slow;
      ASSERT_EQ(read_json_by_protobuf(slow, text), status()) << text;
      EXPECT_TRUE(equal(fast, slow)) << text;
    }
  EXPECT_GE(plain, 500);
}

TEST(PlainJson, LeavesTheRestToProtobufsMapping) {
  std::string deep = "{}";
  for (int i = 0; i < 40; ++i) deep = R"({"inner":)" + deep + "}";
  for (const std::string_view text : {std::string_view(deep),
                                      std::string_view(R"({"a":1})"),
                                      std::string_view(R"({"int32Value":1,"int32_value":1})"),
                                      std::string_view(R"({"int32Value":1.0})"),
                                      std::string_view(R"({"int32Value":1e1})"),
                                      std::string_view(R"({"int32Value":-0})"),
                                      std::string_view(R"({"int32Value":01})"),
                                      std::string_view(R"({"int32Value":2147483648})"),
                                      std::string_view(R"({"uint32Value":-1})"),
                                      std::string_view(R"({"int64Value":"1)"),
                                      std::string_view("{\"stringValue\":\"\xff\"}"),
                                      std::string_view(R"({"enumValue":"NONE"})"),
                                      std::string_view(R"({"enumValue":77})"),
                                      std::string_view(R"({"doubleValue":"1"})"),
                                      std::string_view(R"({"doubleValue":-0})"),
                                      std::string_view(R"({"doubleValue":9007199254740993})"),
                                      std::string_view(R"({"doubleValue":1e999})"),
                                      std::string_view(R"({"floatValue":1e39})"),
                                      std::string_view(R"({"doubleValue":1.})"),
                                      std::string_view(R"({"doubleValue":.5})"),
                                      std::string_view(R"({"doubleValue":01.5})"),
                                      std::string_view(R"({"stringValue":"\u12"})"),
                                      std::string_view(R"({"stringValue":"\ud83d"})"),
                                      std::string_view(R"({"stringValue":"\udE00"})"),
                                      std::string_view(R"({"stringValue":"\x"})"),
                                      std::string_view(R"({"stringValue":"\)"),
                                      std::string_view(R"({"bytesValue":"YQ"})"),
                                      std::string_view(R"({"bytesValue":"-_-_"})"),
                                      std::string_view(R"({"bytesValue":"YR=="})"),
                                      std::string_view(R"({"time":"2023-02-29T00:00:00Z"})"),
                                      std::string_view(R"({"time":"0000-01-01T00:00:00Z"})"),
                                      std::string_view(R"({"time":"1970-13-01T00:00:00Z"})"),
                                      std::string_view(R"({"time":"1970-01-01T24:00:00Z"})"),
                                      std::string_view(R"({"time":"1970-01-01T00:00:60Z"})"),
                                      std::string_view(R"({"time":"1970-01-01T00:00:00+01:00"})"),
                                      std::string_view(R"({"time":"1970-01-01T00:00:00.Z"})"),
                                      std::string_view(R"({"time":"1970-01-01T00:00:00.1234567890Z"})"),
                                      std::string_view(R"({"time":{}})"),
                                      std::string_view(R"({"numbers":[null]})"),
                                      std::string_view(R"({"flags":{"1":null}})"),
                                      std::string_view(R"({"flags":{"1":true,"1":false}})"),
                                      std::string_view(R"({"flags":{"01":true}})"),
                                      std::string_view(R"({"flags":{1:true}})"),
                                      std::string_view(R"({"value":null})"),
                                      std::string_view(R"({"word":null})"),
                                      std::string_view(R"({"int32Value":nul})"),
                                      std::string_view(R"({"word":"a","number":1})"),
                                      std::string_view(R"({"numbers":1})"),
                                      std::string_view(R"({"numbers":[1,]})"),
                                      std::string_view(R"({"book":[]})"),
                                      std::string_view("[]"),
                                      std::string_view(""),
                                      std::string_view("{"),
                                      std::string_view(R"({"int32Value":1}x)"),
                                      std::string_view(R"({"int32Value":1,})"),
                                      std::string_view(R"({int32Value:1})")}) {
    Everything m;
    EXPECT_FALSE(read_plain_json(m, text)) << text;
  }
  Everything with_map;
  (*with_map.mutable_flags())[1] = true;
  Everything with_time;
  with_time.mutable_time();
  Everything with_unknown;
  ASSERT_TRUE(with_unknown.ParseFromString(std::string("\xa0\x06\x01", 3)));
  for (const Everything* m : {&with_map, &with_time, &with_unknown}) {
    std::string text;
    EXPECT_FALSE(write_plain_json(*m, text));
    EXPECT_EQ(text, "");
  }
}

}  // namespace
}  // namespace coracle::rpc::plain_json_test
