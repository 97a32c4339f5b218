#include "hpack/static_table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::hpack::static_table_test {
namespace {

TEST(HpackStaticTable, EntriesStandWhereRfc7541AppendixAPutsThem) {
  struct row {
    std::uint32_t index;
    const char* name;
    const char* value;
  };
  constexpr row rows[] = {
      {1, ":authority", ""},
      {2, ":method", "GET"},
      {3, ":method", "POST"},
      {4, ":path", "/"},
      {7, ":scheme", "https"},
      {8, ":status", "200"},
      {14, ":status", "500"},
      {15, "accept-charset", ""},
      {16, "accept-encoding", "gzip, deflate"},
      {19, "accept", ""},
      {23, "authorization", ""},
      {28, "content-length", ""},
      {31, "content-type", ""},
      {32, "cookie", ""},
      {38, "host", ""},
      {46, "location", ""},
      {54, "server", ""},
      {55, "set-cookie", ""},
      {57, "transfer-encoding", ""},
      {58, "user-agent", ""},
      {61, "www-authenticate", ""},
  };
  for (const row& r : rows) {
    EXPECT_EQ(static_table[r.index].name, r.name);
    EXPECT_EQ(static_table[r.index].value, r.value);
  }
}

TEST(HpackStaticTable, EveryEntryIsFoundByNameAndValue) {
  for (std::uint32_t i = 1; i <= static_entry_count; ++i) {
    const field& f = static_table[i];
    const static_match match = find_static(f.name, f.value);
    EXPECT_EQ(match.field_index, i);
    EXPECT_EQ(static_table[match.name_index].name, f.name);
    EXPECT_TRUE(match.name_index == 1 || static_table[match.name_index - 1u].name != f.name);
  }
}

TEST(HpackStaticTable, AKnownNameWithAnotherValueMatchesByNameOnly) {
  const static_match match = find_static(":method", "PUT");
  EXPECT_EQ(match.name_index, 2);
  EXPECT_EQ(match.field_index, 0);
}

TEST(HpackStaticTable, OtherNamesMatchNothing) {
  for (const char* name : {"", "a", "grpc-timeout", "te", ":Method", "content-typf", "contenttttype"}) {
    const static_match match = find_static(name, "");
    EXPECT_EQ(match.name_index, 0) << name;
    EXPECT_EQ(match.field_index, 0) << name;
  }
  // Names with one changed character, at every position.
  for (std::uint32_t i = 1; i <= static_entry_count; ++i) {
    for (std::size_t at = 0; at < static_table[i].name.size(); ++at) {
      std::string name(static_table[i].name);
      name[at] ^= 1;
      EXPECT_EQ(find_static(name, "").name_index, 0) << name;
    }
  }
}

}  // namespace
}  // namespace coracle::hpack::static_table_test
