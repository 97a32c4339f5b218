// The code of docs/guides/web_protocols.md, docs/guides/rest.md and docs/guides/openapi.md.
// --8<-- [start:includes]
#include "movie.coracle.hpp"  // generated from movie.proto

#include <google/protobuf/descriptor.h>
#include <coracle/client.hpp>
#include <coracle/rpc/openapi.hpp>
#include <coracle/server.hpp>

#include <string>
// --8<-- [end:includes]

#include <gtest/gtest.h>

namespace web_page {
namespace {

class shelf final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&,
                                                   const movie::Movie& movie) override {
    if (movie.title().empty()) co_return coracle::status::invalid_argument("a title is needed");
    movie::AddMovieResponse response;
    response.set_movie_id("1");
    co_return response;
  }
};

// --8<-- [start:options]
coracle::server_options options_for_pages() {
  coracle::server_options options;
  options.codecs.push_back(&coracle::json_codec());               // JSON beside protobuf's binary format
  options.web.allowed_origins = {"https://app.example"};          // pages of other sites that may call
  options.web.allowed_hosts = {"movies.example", "localhost"};    // against DNS rebinding
  return options;
}
// --8<-- [end:options]

// --8<-- [start:rules]
constexpr const char* rules = R"({"http": {"rules": [
  {"selector": "movie.MovieService.AddMovie", "post": "/v1/movies", "body": "*"},
  {"selector": "movie.MovieService.ListMovies", "get": "/v1/movies"}]}})";
// --8<-- [end:rules]

TEST(WebGuides, AServerAnswersEveryProtocolOnOnePort) {
  shelf service;
  coracle::runtime rt;
  rt.start();
  coracle::server server(rt, options_for_pages());
  // --8<-- [start:rest]
  server.add(service);
  coracle::rest_options rest;
  rest.http_rules = rules;  // without it: the option google.api.http of the .proto files
  if (const coracle::status s = server.add_rest(rest); !s.ok()) throw coracle::status_error(s);
  // --8<-- [end:rest]
  // --8<-- [start:add_openapi]
  coracle::openapi_options document;
  document.title = "Movies";
  if (const coracle::status s = server.add_openapi(document); !s.ok()) throw coracle::status_error(s);
  // --8<-- [end:add_openapi]
  ASSERT_EQ(server.listen("127.0.0.1:0", coracle::insecure()), coracle::status());
  const std::string address = "localhost:" + std::to_string(server.port());
  movie::Movie movie;
  movie.set_title("Alien");
  // --8<-- [start:client]
  coracle::channel_options options;
  options.protocol = coracle::call_protocol::connect;    // or grpc_web, grpc_web_text
  options.http_version = coracle::http_version::http1;
  const coracle::channel channel(address, coracle::insecure(), options);
  const movie::rpc::MovieService::stub movies(channel);
  const auto reply = coracle::sync_wait(movies.AddMovie(movie));
  // --8<-- [end:client]
  ASSERT_TRUE(reply) << reply.status();
  EXPECT_EQ(reply->movie_id(), "1");
}

TEST(WebGuides, AServiceIsDescribedAsOpenApi) {
  // --8<-- [start:openapi]
  coracle::openapi_options options;
  options.http_rules = rules;
  const auto* const service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName("movie.MovieService");
  const coracle::result<std::string> document = coracle::openapi_document({&service, 1}, options);
  // --8<-- [end:openapi]
  ASSERT_TRUE(document) << document.status();
  EXPECT_NE(document->find("/v1/movies"), std::string::npos);
}

}  // namespace
}  // namespace web_page
