#include "http/header_validator.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::http::header_validator_test {
namespace {

using list = std::vector<std::pair<std::string_view, std::string_view>>;
using enum header_kind;

// The verdict on a whole message, from check(), and again from check_known() where possible.
field_error verdict(header_kind kind, const list& fields, edge_whitespace edges = edge_whitespace::reject) {
  header_validator full(kind, edges);
  header_validator known(kind, edges);
  for (const auto& [name, value] : fields) {
    field_class found = field_class::regular;
    full.check(name, value, &found);
    if (found == field_class::unknown) known.check(name, value);
    else known.check_known(found, value);
    EXPECT_EQ(known.error(), full.error());
  }
  EXPECT_EQ(full.finish(), known.finish());
  EXPECT_EQ(full.finish(), full.error());
  return full.error();
}

const list request_headers = {
    {":method", "POST"}, {":scheme", "http"}, {":path", "/a/b"}, {":authority", "host"}};
const list response_headers = {{":status", "200"}};

list with(list fields, std::string_view name, std::string_view value) {
  fields.emplace_back(name, value);
  return fields;
}
field_error of_request(std::string_view name, std::string_view value) {
  return verdict(request, with(request_headers, name, value));
}
list request_with(std::string_view name, std::string_view value) {
  list fields = request_headers;
  for (auto& field : fields)
    if (field.first == name) field.second = value;
  return fields;
}
list request_without(std::string_view name) {
  list fields = request_headers;
  std::erase_if(fields, [name](const auto& field) { return field.first == name; });
  return fields;
}

TEST(HeaderValidator, UsualMessagesAreFine) {
  list grpc = request_headers;
  grpc.insert(grpc.end(), {{"te", "trailers"}, {"content-type", "application/grpc"}, {"grpc-timeout", "1S"}});
  EXPECT_EQ(verdict(request, grpc), field_error::none);
  EXPECT_EQ(verdict(response, with(response_headers, "content-type", "application/grpc")), field_error::none);
  EXPECT_EQ(verdict(trailers, {{"grpc-status", "0"}, {"grpc-message", ""}}), field_error::none);
  EXPECT_EQ(verdict(trailers, {}), field_error::none);
  EXPECT_EQ(verdict(request, request_without(":authority")), field_error::none);
}

// RFC 9113 8.2.1.
TEST(HeaderValidator, NamesAndValuesFollowTheirCharacters) {
  EXPECT_EQ(of_request("", "1"), field_error::name_empty);
  EXPECT_EQ(of_request("Upper", "1"), field_error::name_upper_case);
  EXPECT_EQ(of_request("a b", "1"), field_error::name_character);
  EXPECT_EQ(of_request("a:b", "1"), field_error::name_character);
  EXPECT_EQ(of_request("a\x7f", "1"), field_error::name_character);
  EXPECT_EQ(of_request("a", std::string_view("1\0002", 3)), field_error::value_character);
  EXPECT_EQ(of_request("a", "1\r\nb: 2"), field_error::value_character);
  EXPECT_EQ(of_request("a", "\x80\xff"), field_error::none);
  EXPECT_EQ(verdict(request, request_with(":path", "/a\nb")), field_error::value_character);
}

TEST(HeaderValidator, WhiteSpaceAtTheEdgesIsRefusedUnlessAllowed) {
  for (const char* value : {" 1", "1 ", "\t1", "1\t", " "}) {
    EXPECT_EQ(verdict(trailers, {{"grpc-message", value}}), field_error::value_edge_whitespace);
    EXPECT_EQ(verdict(trailers, {{"grpc-message", value}}, edge_whitespace::allow), field_error::none);
  }
  EXPECT_EQ(of_request("a", "1 2"), field_error::none);
}

// RFC 9113 8.2.2.
TEST(HeaderValidator, ConnectionSpecificFieldsAreRefusedInEveryMessage) {
  for (const char* name : {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}) {
    EXPECT_EQ(of_request(name, "close"), field_error::connection_specific) << name;
    EXPECT_EQ(verdict(response, with(response_headers, name, "x")), field_error::connection_specific) << name;
    EXPECT_EQ(verdict(trailers, {{name, "x"}}), field_error::connection_specific) << name;
  }
  for (const char* name :
       {"connectiom", "keep-alivf", "proxy-connectiox", "transfer-encodinh", "upgradf", "tf"})
    EXPECT_EQ(of_request(name, "x"), field_error::none) << name;
}

TEST(HeaderValidator, TeSaysTrailersAndInRequestsOnly) {
  EXPECT_EQ(of_request("te", "trailers"), field_error::none);
  EXPECT_EQ(of_request("te", "Trailers"), field_error::none);
  for (const char* value : {"", "gzip", "trailers, gzip", "trailer"})
    EXPECT_EQ(of_request("te", value), field_error::te_not_trailers) << value;
  EXPECT_EQ(verdict(response, with(response_headers, "te", "trailers")), field_error::connection_specific);
  EXPECT_EQ(verdict(trailers, {{"te", "trailers"}}), field_error::connection_specific);
}

// RFC 9113 8.3.
TEST(HeaderValidator, PseudoHeadersComeBeforeRegularFields) {
  list late = request_without(":path");
  late.insert(late.end(), {{"a", "1"}, {":path", "/"}});
  EXPECT_EQ(verdict(request, late), field_error::pseudo_after_regular);
  EXPECT_EQ(verdict(response, {{"a", "1"}, {":status", "200"}}), field_error::pseudo_after_regular);
  list after_te = request_without(":path");
  after_te.insert(after_te.end(), {{"te", "trailers"}, {":path", "/"}});
  EXPECT_EQ(verdict(request, after_te), field_error::pseudo_after_regular);
  list after_length = request_without(":path");
  after_length.insert(after_length.end(), {{"content-length", "1"}, {":path", "/"}});
  EXPECT_EQ(verdict(request, after_length), field_error::pseudo_after_regular);
}

TEST(HeaderValidator, NoPseudoHeaderOccursTwice) {
  for (const auto& [name, value] : request_headers)
    EXPECT_EQ(of_request(name, value), field_error::pseudo_duplicate);
  EXPECT_EQ(verdict(response, with(response_headers, ":status", "200")), field_error::pseudo_duplicate);
}

TEST(HeaderValidator, UnknownPseudoHeadersAreRefused) {
  for (const char* name : {":", ":protocol", ":Path", ":pat", ":paths", "::path"}) {
    EXPECT_EQ(of_request(name, "/"), field_error::pseudo_unknown) << name;
    EXPECT_EQ(verdict(response, {{name, "1"}}), field_error::pseudo_unknown) << name;
    EXPECT_EQ(verdict(trailers, {{name, "1"}}), field_error::pseudo_unknown) << name;
  }
}

TEST(HeaderValidator, PseudoHeadersBelongToTheirMessage) {
  EXPECT_EQ(of_request(":status", "200"), field_error::pseudo_in_wrong_message);
  for (const auto& [name, value] : request_headers) {
    EXPECT_EQ(verdict(response, {{name, value}}), field_error::pseudo_in_wrong_message);
    EXPECT_EQ(verdict(trailers, {{name, value}}), field_error::pseudo_in_wrong_message);
  }
  EXPECT_EQ(verdict(trailers, {{":status", "200"}}), field_error::pseudo_in_wrong_message);
}

// RFC 9113 8.3.1.
TEST(HeaderValidator, ARequestNeedsMethodSchemeAndPath) {
  EXPECT_EQ(verdict(request, {}), field_error::method_missing);
  EXPECT_EQ(verdict(request, request_without(":method")), field_error::method_missing);
  EXPECT_EQ(verdict(request, request_without(":scheme")), field_error::scheme_missing);
  EXPECT_EQ(verdict(request, request_without(":path")), field_error::path_missing);
}

TEST(HeaderValidator, ValuesOfRequestPseudoHeadersAreChecked) {
  for (const char* path : {"", "a/b", "http://host/a", "**"})
    EXPECT_EQ(verdict(request, request_with(":path", path)), field_error::path_value) << path;
  for (const char* method : {"", "PO ST", "P:"})
    EXPECT_EQ(verdict(request, request_with(":method", method)), field_error::method_value) << method;
  for (const char* scheme : {"", "1http", "ht tp", "http:"})
    EXPECT_EQ(verdict(request, request_with(":scheme", scheme)), field_error::scheme_value) << scheme;
  EXPECT_EQ(verdict(request, request_with(":scheme", "coap+tcp")), field_error::none);
  EXPECT_EQ(verdict(request, request_with(":authority", "user@host")), field_error::authority_value);
  EXPECT_EQ(verdict(request, request_with(":authority", "")), field_error::none);
}

// RFC 3986 2. The URIs that routers, interceptors and logs see are printable ASCII.
TEST(HeaderValidator, PathAndAuthorityConsistOfPrintableAsciiCharacters) {
  for (int i = 0; i < 256; ++i) {
    const char c = static_cast<char>(i);
    if (c == '\0' || c == '\r' || c == '\n') continue;  // refused in every value
    SCOPED_TRACE(i);
    const bool printable = i > 0x20 && i < 0x7f;
    for (const std::string& path : {std::string("/a") + c + "b/C", std::string("/a.B/C") + c})
      EXPECT_EQ(verdict(request, request_with(":path", path), edge_whitespace::allow),
                printable ? field_error::none : field_error::path_character);
    if (c == '@') continue;
    const std::string host = std::string("h") + c;
    const field_error expected = printable ? field_error::none : field_error::authority_character;
    EXPECT_EQ(verdict(request, request_with(":authority", host), edge_whitespace::allow), expected);
    EXPECT_EQ(verdict(request, with(request_headers, "host", host), edge_whitespace::allow), expected);
    const bool in_scheme = std::isalnum(i) != 0 || c == '+' || c == '-' || c == '.';
    EXPECT_EQ(verdict(request, request_with(":scheme", host), edge_whitespace::allow),
              in_scheme ? field_error::none : field_error::scheme_value);
  }
  EXPECT_EQ(of_request("host", "user@host"), field_error::authority_value);
  EXPECT_EQ(verdict(request, request_with(":path", "/a%C3%BC?q={x}|y#z")), field_error::none);
  EXPECT_EQ(of_request("hosu", "\x01"), field_error::none);
}

TEST(HeaderValidator, AnAsteriskIsThePathOfOptionsOnly) {
  EXPECT_EQ(verdict(request, request_with(":path", "*")), field_error::asterisk_without_options);
  EXPECT_EQ(verdict(request, {{":path", "*"}, {":scheme", "http"}, {":method", "OPTIONS"}}),
            field_error::none);
  EXPECT_EQ(verdict(request, request_with(":method", "OPTIONS")), field_error::none);
}

// RFC 9113 8.5.
TEST(HeaderValidator, ConnectHasAnAuthorityAlone) {
  EXPECT_EQ(verdict(request, {{":method", "CONNECT"}, {":authority", "host:1"}}), field_error::none);
  EXPECT_EQ(verdict(request, {{":method", "CONNECT"}}), field_error::authority_missing);
  EXPECT_EQ(verdict(request, request_with(":method", "CONNECT")), field_error::connect_with_scheme);
  EXPECT_EQ(verdict(request, {{":method", "CONNECT"}, {":authority", "h"}, {":path", "/"}}),
            field_error::connect_with_path);
}

// RFC 9113 8.3.2.
TEST(HeaderValidator, AResponseNeedsAStatusOfThreeDigits) {
  EXPECT_EQ(verdict(response, {}), field_error::status_missing);
  EXPECT_EQ(verdict(response, {{"a", "1"}}), field_error::status_missing);
  for (const char* status : {"", "20", "2000", "2x0", " 200", "099", "000", "-10", "101"}) {
    const field_error error = verdict(response, {{":status", status}});
    EXPECT_TRUE(error == field_error::status_value || error == field_error::value_edge_whitespace) << status;
  }
  for (const int status : {100, 200, 404, 599, 999}) {
    header_validator v(response);
    EXPECT_EQ(v.check(":status", std::to_string(status)), field_error::none);
    EXPECT_EQ(v.status(), status);
  }
}

// RFC 9110 8.6.
TEST(HeaderValidator, ContentLengthIsReadOnce) {
  header_validator v(request);
  EXPECT_EQ(v.content_length(), std::nullopt);
  v.check("content-length", "123");
  EXPECT_EQ(v.content_length(), 123u);
  EXPECT_EQ(v.check("content-length", "123"), field_error::content_length_duplicate);
  EXPECT_EQ(of_request("content-length", "12x"), field_error::content_length_value);
  header_validator t(trailers);
  t.check("content-length", "5");
  EXPECT_EQ(t.content_length(), std::nullopt);
}

TEST(HeaderValidator, TheFirstErrorStandsUntilReset) {
  header_validator v(request);
  EXPECT_EQ(v.check("A", "1"), field_error::name_upper_case);
  EXPECT_EQ(v.check("a", "1\n"), field_error::name_upper_case);
  EXPECT_EQ(v.check_known(field_class::regular, "1"), field_error::name_upper_case);
  EXPECT_EQ(v.finish(), field_error::name_upper_case);
  v.reset(trailers);
  EXPECT_EQ(v.check("a", "1"), field_error::none);
  EXPECT_EQ(v.finish(), field_error::none);
  EXPECT_EQ(v.kind(), trailers);
}

TEST(HeaderValidator, AFieldInErrorHasNoClassToRemember) {
  header_validator v(request);
  field_class found = field_class::regular;
  v.check("connection", "close", &found);
  EXPECT_EQ(found, field_class::unknown);
}

}  // namespace
}  // namespace coracle::http::header_validator_test
