// RFC 7541 Appendix C, read from tests/vectors/hpack/rfc7541_appendix_c.txt (which explains its format).
#include "hpack/decoder.hpp"
#include "hpack/encoder.hpp"
#include "unit/hpack/reference_decoder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace coracle::hpack::rfc_examples_test {
namespace {

using testing::block;
using testing::outcome;
using testing::owned_field;

struct example {
  block bytes;
  std::vector<owned_field> fields;
  std::vector<indexing> policies;
  std::uint32_t table_size_bytes = 0;
  bool decode_only = false;
};
struct context {
  std::string name;
  std::uint32_t table_bytes = 0;
  std::string coding;
  std::vector<example> examples;
};

indexing policy_named(const std::string& word) {
  return word == "index"         ? indexing::index
         : word == "never_index" ? indexing::never_index
                                 : indexing::no_index;
}

std::vector<context> read_examples() {
  std::ifstream file(CORACLE_TESTS_DIR "/vectors/hpack/rfc7541_appendix_c.txt");
  std::vector<context> contexts;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "context") {
      context& c = contexts.emplace_back();
      words >> c.name >> c.table_bytes >> c.coding;
    } else if (key == "block") {
      contexts.back().examples.emplace_back().bytes = testing::from_hex(line.substr(6));
    } else if (key == "field") {
      example& e = contexts.back().examples.back();
      std::string policy;
      std::string name;
      words >> policy >> name;
      e.policies.push_back(policy_named(policy));
      e.fields.push_back({name, line.substr(line.find(" = ") + 3), policy == "never_index"});
    } else if (key == "decode_only") {
      contexts.back().examples.back().decode_only = true;
    } else if (key == "size") {
      words >> contexts.back().examples.back().table_size_bytes;
    }
  }
  return contexts;
}

TEST(HpackRfcExamples, TheFileHasAllOfThem) { EXPECT_EQ(read_examples().size(), 8u); }

TEST(HpackRfcExamples, DecodeToTheirFields) {
  for (const context& c : read_examples()) {
    SCOPED_TRACE(c.name);
    decoder d;
    testing::reference_decoder reference;
    d.set_table_limit(c.table_bytes);
    reference.set_table_limit(c.table_bytes);
    if (c.table_bytes != default_table_bytes) {
      testing::decode(d, testing::size_update(c.table_bytes));
      reference.decode(testing::size_update(c.table_bytes));
    }
    for (const example& e : c.examples) {
      EXPECT_EQ(testing::decode(d, e.bytes), (outcome{e.fields, decode_error::none}));
      EXPECT_EQ(reference.decode(e.bytes), (outcome{e.fields, decode_error::none}));
      EXPECT_EQ(d.table().size_bytes(), e.table_size_bytes);
      EXPECT_EQ(reference.size_bytes(), e.table_size_bytes);
    }
  }
}

TEST(HpackRfcExamples, AreWhatTheEncoderWrites) {
  for (const context& c : read_examples()) {
    if (c.coding != "huffman") continue;  // the encoder always uses it where it is shorter
    SCOPED_TRACE(c.name);
    encoder enc(c.table_bytes);
    std::uint8_t buffer[1024];
    (void)enc.begin_block(buffer);  // a size update, which the examples leave out
    for (const example& e : c.examples) {
      std::uint8_t* out = buffer;
      for (std::size_t i = 0; i < e.fields.size(); ++i)
        out = enc.encode(out, e.fields[i].name, e.fields[i].value, e.policies[i]);
      if (!e.decode_only) {
        EXPECT_EQ(block(buffer, out), e.bytes);
      }
      EXPECT_EQ(enc.table().size_bytes(), e.table_size_bytes);
    }
  }
}

// A truncated block has the fields of the whole one up to the cut, and an error unless the cut lies between
// fields.
TEST(HpackRfcExamples, CutAtEveryByteDecodeAsTheReferenceSays) {
  for (const context& c : read_examples()) {
    SCOPED_TRACE(c.name);
    for (std::size_t whole = 0; whole < c.examples.size(); ++whole) {
      const block& last = c.examples[whole].bytes;
      for (std::size_t cut = 0; cut < last.size(); ++cut) {
        decoder d;
        testing::reference_decoder reference;
        for (std::size_t i = 0; i < whole; ++i) {
          testing::decode(d, c.examples[i].bytes);
          reference.decode(c.examples[i].bytes);
        }
        EXPECT_EQ(testing::decode(d, bytes_view(last).first(cut)),
                  reference.decode(bytes_view(last).first(cut)));
      }
    }
  }
}

}  // namespace
}  // namespace coracle::hpack::rfc_examples_test
