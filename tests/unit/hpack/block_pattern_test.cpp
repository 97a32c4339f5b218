// Which header blocks a pattern recognizes, and what it finds in them.
#include "hpack/block_pattern.hpp"
#include "hpack/decoder.hpp"
#include "hpack/encoder.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::hpack::block_pattern_test {
namespace {

using likeness = block_pattern::likeness;

struct one {
  std::string_view name, value;
  indexing policy = indexing::index;
};

// A client's encoder, a server's decoder, and one pattern.
struct pair {
  std::vector<std::uint8_t> encode(const std::vector<one>& fields) {
    std::vector<std::uint8_t> block(4096);
    std::uint8_t* at = encoder.begin_block(block.data());
    for (const one& f : fields) at = encoder.encode(at, f.name, f.value, f.policy);
    block.resize(static_cast<std::size_t>(at - block.data()));
    return block;
  }
  // Compares the block with the pattern, decodes it, and learns it unless it matches.
  likeness take(const std::vector<std::uint8_t>& block) {
    const std::uint64_t before = decoder.table().inserted();
    decoder.start(block);
    const likeness found = pattern.match(block, decoder.table());
    values.clear();
    if (found == likeness::like) {
      std::array<field, block_pattern::varying_max> varying;
      EXPECT_TRUE(decoder.read_varying(pattern, varying));
      for (std::size_t i = 0; i < pattern.found().size(); ++i) values.emplace_back(varying[i].value);
      return found;
    }
    while (decoder.next() == hpack::decoder::step::field) continue;
    EXPECT_EQ(decoder.error(), decode_error::none);
    if (found == likeness::similar) pattern.add_differing(varying_names);
    pattern.learn(block, before, decoder.table(), varying_names,
                  [](std::string_view name) { return !name.starts_with(':'); });
    return found;
  }
  likeness take(const std::vector<one>& fields) { return take(encode(fields)); }

  hpack::encoder encoder;
  hpack::decoder decoder;
  block_pattern pattern;
  block_pattern::varying_names varying_names;
  std::vector<std::string> values;
};

TEST(HpackBlockPattern, OfNothingMatchesNothing) {
  pair p;
  EXPECT_EQ(p.pattern.match({}, p.decoder.table()), likeness::none);
  EXPECT_EQ(p.take({{"a", "1"}}), likeness::none);
}

TEST(HpackBlockPattern, MatchesTheSameFieldsWhereverTheirEntriesMove) {
  pair p;
  const std::vector<one> fields = {{":method", "POST"}, {"a", "1"}, {"b", "2"}};
  EXPECT_EQ(p.take(fields), likeness::none);  // inserted
  EXPECT_EQ(p.take(fields), likeness::like);  // indexes now
  for (int i = 0; i < 20; ++i) {
    const std::vector<std::uint8_t> other = p.encode({{"other", std::to_string(i)}});
    p.decoder.start(other);
    while (p.decoder.next() == hpack::decoder::step::field) continue;
    EXPECT_EQ(p.take(fields), likeness::like) << i;
  }
  EXPECT_EQ(p.take({{":method", "POST"}, {"b", "2"}, {"a", "1"}}), likeness::none);
}

TEST(HpackBlockPattern, DoesNotMatchAShorterOrALongerBlock) {
  pair p;
  const std::vector<one> fields = {{":method", "POST"}, {"a", "1", indexing::no_index}};
  p.take(fields);
  EXPECT_EQ(p.take(fields), likeness::like);
  EXPECT_EQ(p.pattern.match(p.encode({{":method", "POST"}}), p.decoder.table()), likeness::none);
  EXPECT_EQ(p.pattern.match(p.encode({fields[0], fields[1], fields[0]}), p.decoder.table()), likeness::none);
  std::vector<std::uint8_t> cut = p.encode(fields);
  for (cut.pop_back(); !cut.empty(); cut.pop_back())
    EXPECT_EQ(p.pattern.match(cut, p.decoder.table()), likeness::none) << cut.size();
}

TEST(HpackBlockPattern, FindsTheLiteralThatDiffersOnceItHasDiffered) {
  pair p;
  const auto block = [&](std::string_view value) {
    return p.encode({{":method", "POST"}, {"timeout", value, indexing::no_index}, {":scheme", "http"}});
  };
  EXPECT_EQ(p.take(block("1S")), likeness::none);
  EXPECT_EQ(p.take(block("1S")), likeness::like);
  EXPECT_TRUE(p.values.empty());
  EXPECT_EQ(p.take(block("2S")), likeness::similar);
  EXPECT_EQ(p.take(block("3S")), likeness::like);
  EXPECT_EQ(p.values, std::vector<std::string>{"3S"});
  EXPECT_EQ(p.take(block("3S")), likeness::like);
  EXPECT_EQ(p.values, std::vector<std::string>{"3S"})
      << "a value that varies is found if it does not differ, too";
  EXPECT_EQ(p.take(block(std::string(200, 'x'))), likeness::like);
  EXPECT_EQ(p.values, std::vector<std::string>{std::string(200, 'x')});
}

TEST(HpackBlockPattern, InsertsWhatTheBlockInserts) {
  pair p;
  std::string names;
  for (int i = 0; i < 500; ++i) {
    const std::string value = std::to_string(1'000'000 + i) + "u";
    const likeness found = p.take({{":method", "POST"}, {"a", "1"}, {"timeout", value}, {"b", "2"}});
    if (found == likeness::like) {
      EXPECT_EQ(p.values, std::vector<std::string>{value});
    }
    ASSERT_EQ(p.decoder.table().inserted(), p.encoder.table().inserted());
    ASSERT_EQ(p.decoder.table().size_bytes(), p.encoder.table().size_bytes());
    names += found == likeness::like ? '.' : 'x';
  }
  // The other fields are inserted anew about each 90 blocks.
  EXPECT_GT(std::count(names.begin(), names.end(), '.'), 450) << names;
}

TEST(HpackBlockPattern, DoesNotMatchWhatItsInsertionsMayEvict) {
  pair p;
  p.encoder.set_peer_limit(200);  // room for a, and two timeouts
  p.decoder.set_table_limit(200);
  const std::vector<one> first = {{"a", "1"}, {"timeout", "1000000u"}};
  p.take(first);
  for (int i = 0; i < 200; ++i) {
    const std::string value = std::to_string(1'000'000 + i * 7 % 13) + "u";
    const auto block = p.encode({{"a", "1"}, {"timeout", value}, {"a", "1"}});
    p.take(block);
    ASSERT_EQ(p.decoder.table().inserted(), p.encoder.table().inserted()) << i;
    ASSERT_EQ(p.decoder.table().size_bytes(), p.encoder.table().size_bytes()) << i;
  }
}

TEST(HpackBlockPattern, DoesNotVaryWhatMayNot) {
  pair p;
  for (int i = 0; i < 6; ++i) {
    const std::string path = "/" + std::to_string(i);
    EXPECT_NE(p.take({{":method", "POST"}, {":path", path, indexing::no_index}}), likeness::like);
  }
  EXPECT_EQ(p.pattern.varying_bytes(), 0u);
}

TEST(HpackBlockPattern, TellsNeverIndexedFromOthers) {
  pair p;
  const std::vector<one> secret = {{"key", "1", indexing::never_index}};
  p.take(secret);
  EXPECT_EQ(p.take(secret), likeness::like);
  EXPECT_EQ(p.take({{"key", "1", indexing::no_index}}), likeness::similar);
  EXPECT_EQ(p.take(secret), likeness::like);
  ASSERT_EQ(p.pattern.found().size(), 1u);
  EXPECT_TRUE(p.pattern.found()[0].never_index);
  EXPECT_EQ(p.take({{"key", "2", indexing::no_index}}), likeness::like);
  EXPECT_FALSE(p.pattern.found()[0].never_index);
}

TEST(HpackBlockPattern, HasAtMostItsLimitOfValuesThatVary) {
  pair p;
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  const auto block = [&](std::size_t count, int value) {
    static std::vector<std::string> values;
    values.assign(count, std::to_string(value));
    std::vector<one> fields;
    for (std::size_t i = 0; i < count; ++i) fields.push_back({names[i], values[i], indexing::no_index});
    return p.encode(fields);
  };
  for (int i = 0; i < 4; ++i) p.take(block(4, i));
  EXPECT_EQ(p.take(block(4, 9)), likeness::like);
  EXPECT_EQ(p.values.size(), block_pattern::varying_max);
  for (int i = 0; i < 4; ++i) EXPECT_NE(p.take(block(5, i)), likeness::like);
}

TEST(HpackBlockPattern, LearnsNoBlockAboveItsLimits) {
  pair p;
  const std::string large(block_pattern::bytes_max, '7');
  for (int i = 0; i < 3; ++i) EXPECT_EQ(p.take({{"a", large + large, indexing::no_index}}), likeness::none);
  std::vector<one> many(block_pattern::named_max + 1, {"a", "1", indexing::no_index});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(p.take(many), likeness::none);
  many.pop_back();
  EXPECT_EQ(p.take(many), likeness::none);
  EXPECT_EQ(p.take(many), likeness::like);
}

// The octets of one code are another name in the other.
TEST(HpackBlockPattern, TellsNamesInHuffmanCodeFromOthers) {
  const auto literal = [](const std::vector<std::uint8_t>& name, bool huffman, char value) {
    std::vector<std::uint8_t> block = {0x82, 0x40,
                                       static_cast<std::uint8_t>((huffman ? 0x80 : 0) | name.size())};
    block.insert(block.end(), name.begin(), name.end());
    block.push_back(1);
    block.push_back(static_cast<std::uint8_t>(value));
    return block;
  };
  const std::vector<std::uint8_t> name = {'x', '-', 'y', '1', 'k'};
  pair p;
  p.take(literal(name, false, 'a'));
  p.take(literal(name, false, 'b'));
  ASSERT_EQ(p.take(literal(name, false, 'c')), likeness::like);
  EXPECT_EQ(p.pattern.match(literal(name, true, 'c'), p.decoder.table()), likeness::none);
  EXPECT_EQ(p.pattern.match(literal({}, true, 'c'), p.decoder.table()), likeness::none);

  pair indexed;
  indexed.take({{":method", "POST"}, {"user-agent", "a"}});
  indexed.take({{":method", "POST"}, {"user-agent", "b"}});
  const auto same = indexed.encode({{":method", "POST"}, {"user-agent", "c"}});
  ASSERT_EQ(indexed.take(same), likeness::like);
  EXPECT_EQ(
      indexed.pattern.match(std::vector<std::uint8_t>{0x83, 0x40, 0x80, 1, 'z'}, indexed.decoder.table()),
      likeness::none);
}

// A literal of three octets can have a name of a whole table.
TEST(HpackBlockPattern, LearnsNoBlockWithMoreNamesThanItsLimit) {
  pair p;
  const std::string long_name(block_pattern::names_bytes_max / 2 + 1, 'n');
  p.take({{long_name, "1"}});
  for (int i = 0; i < 4; ++i) {
    const std::string value = std::to_string(i);
    EXPECT_EQ(p.take({{long_name, value, indexing::no_index}, {long_name, value, indexing::no_index}}),
              likeness::none);
  }
}

TEST(HpackBlockPattern, LearnsNoBlockWithMoreIndexesThanItsLimit) {
  pair p;
  std::vector<one> fields(block_pattern::moving_max, {"a", "1"});
  p.take(fields);
  EXPECT_EQ(p.take(fields), likeness::like);
  fields.push_back({"a", "1"});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(p.take(fields), likeness::none);
}

TEST(HpackBlockPattern, HasTheLastNamesThatVaried) {
  block_pattern::varying_names names;
  for (const char* name : {"a", "b", "c", "d"}) names.add(name);
  EXPECT_TRUE(names.contains("a") && names.contains("d"));
  names.add("e");
  EXPECT_FALSE(names.contains("a"));
  EXPECT_TRUE(names.contains("e"));
  names.add(std::string(block_pattern::varying_names::name_bytes_max + 1, 'n'));
  EXPECT_TRUE(names.contains("e"));
}

}  // namespace
}  // namespace coracle::hpack::block_pattern_test
