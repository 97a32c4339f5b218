#include "protocol/connect/encodings.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string_view>

namespace coracle::protocol::connect::encodings_test {
namespace {

const encoding_set gzip_and_br{encoding::gzip, encoding::brotli};

TEST(ConnectEncodings, OfAMessageMustBeAccepted) {
  EXPECT_EQ(content_encoding("gzip", gzip_and_br), encoding::gzip);
  EXPECT_EQ(content_encoding("GZip", gzip_and_br), encoding::gzip);
  EXPECT_EQ(content_encoding("x-gzip", gzip_and_br), encoding::gzip);
  EXPECT_EQ(content_encoding("br", gzip_and_br), encoding::brotli);
  EXPECT_EQ(content_encoding("identity", gzip_and_br), encoding::identity);
  EXPECT_EQ(content_encoding("", {}), encoding::identity);
  for (const std::string_view name : {"zstd", "foo", "gzip, br", "gzipgzip", "gzip-and-more", "*"})
    EXPECT_EQ(content_encoding(name, gzip_and_br), std::nullopt) << name;
}

TEST(ConnectEncodings, OfAPeerAreReadFromAListWithWeights) {
  struct row {
    std::string_view list;
    encoding_set expected;
  };
  for (const auto& [list, expected] :
       {row{"", {}}, row{"gzip", {encoding::gzip}}, row{"gzip, br", gzip_and_br}, row{"gzip,br", gzip_and_br},
        row{" GZIP ;q=0.001,, br; Q=1.0 ,", gzip_and_br}, row{"gzip;q=0, br", {encoding::brotli}},
        row{"gzip;q=0.000", {}}, row{"*", {}}, row{"*;q=0, gzip", {encoding::gzip}},
        row{"foo, gzip", {encoding::gzip}}, row{"gzip;q=2", {}}, row{"gzip;q=1.001", {}},
        row{"gzip;q=-1", {}}, row{"gzip;q=", {}}, row{"gzip;q=.5", {}}, row{"gzip;q=0.5555", {}},
        row{"gzip;x=1", {}}, row{"gzip;q=0x", {}}})
    EXPECT_EQ(parse_accept_encoding(list), expected) << list;
}

TEST(ConnectEncodings, OfThoseThatAreOfferedTheHeaviestIsPreferredThenTheFirst) {
  struct row {
    std::string_view list;
    encoding expected;
  };
  constexpr std::array offered{encoding::zstd, encoding::gzip};
  for (const auto& [list, expected] :
       {row{"", encoding::identity}, row{"gzip", encoding::gzip}, row{"zstd", encoding::zstd},
        row{"gzip, zstd", encoding::zstd}, row{"gzip, deflate, br, zstd", encoding::zstd},
        row{"gzip;q=1.0, zstd;q=0.9", encoding::gzip}, row{"zstd;q=0.5, gzip;q=0.4", encoding::zstd},
        row{"zstd;q=0, gzip;q=0.1", encoding::gzip}, row{"gzip;q=0, zstd;q=0", encoding::identity},
        row{"br, *", encoding::identity}, row{"identity, gzip;q=0.5", encoding::identity},
        row{"identity;q=0.5, gzip", encoding::gzip}, row{"identity, gzip", encoding::gzip},
        row{"identity;q=0, zstd;q=0.1", encoding::zstd}})
    EXPECT_EQ(preferred_encoding(list, offered), expected) << list;
}

}  // namespace
}  // namespace coracle::protocol::connect::encodings_test
