#include "tools/manual/examples.hpp"

#include <utility>

namespace coracle::tools {

namespace {

constexpr example overview[] = {
    {"List the services of a server without TLS.", "coracle ls localhost:50051 -p"},
    {"Call a method.", "coracle call localhost:50051 -p AddMovie -d '{\"title\": \"Alien\"}'"},
    {"Call it for ten seconds, and write a report.",
     "coracle load localhost:50051 -p AddMovie -d '{\"title\": \"x\"}' --report load.html"},
};
constexpr example ls[] = {
    {"List the services of a server.", "coracle ls localhost:50051 -p"},
    {"List the methods of a service.", "coracle ls localhost:50051 -p movie.MovieService"},
    {"List the methods in a .proto file, without a server.", "coracle ls --proto movie.proto -m"},
};
constexpr example describe[] = {
    {"Show a method with its messages.", "coracle describe localhost:50051 -p AddMovie"},
    {"Write a request, edit it, and send it.",
     "coracle describe localhost:50051 -p AddMovie --template > request.json"},
    {"Keep the definitions of a server in a descriptor set.",
     "coracle describe localhost:50051 -p --protoset-out movie.protoset"},
};
constexpr example call[] = {
    {"Call a method with a request.", "coracle call localhost:50051 -p AddMovie -d '{\"title\": \"Alien\"}'"},
    {"Read the request from a file.", "coracle call localhost:50051 -p AddMovie -d @request.json"},
    {"Stream requests from the standard input.",
     "printf '{\"title\": \"A\"} {\"title\": \"B\"}' | coracle call localhost:50051 -p AddMultipleMovies -d "
     "-"},
    {"Call it as a browser does, and show the HTTP.",
     "coracle call localhost:50051 -p AddMovie -d '{\"title\": \"Alien\"}' --protocol connect -v"},
    {"Keep the call in a file of requests.",
     "coracle call localhost:50051 -p AddMovie -d '{\"title\": \"Alien\"}' --save movies.grpc"},
    {"Get replies and errors as lines of JSON.", "coracle call localhost:50051 -p ListMovies --format json"},
};
constexpr example test[] = {
    {"Make the calls of all files of a folder.", "coracle test requests"},
    {"Make them on another server, and write results for a pipeline.",
     "coracle test requests --address http://localhost:50051 --junit results.xml"},
};
constexpr example repl[] = {
    {"Explore a server line by line.", "coracle repl localhost:50051 -p"},
    {"Run lines of a script.", "printf 'ls\\n' | coracle repl localhost:50051 -p"},
};
constexpr example console[] = {
    {"Call the methods of a server from a page in the browser.", "coracle console localhost:50051 -p"},
    {"Show the comments of a .proto file in it.", "coracle console localhost:50051 -p --proto movie.proto"},
    {"Choose the server in the page.", "coracle console"},
};
constexpr example load[] = {
    {"Call a method from 20 workers for ten seconds.",
     "coracle load localhost:50051 -p AddMovie -d '{\"title\": \"x\"}' -c 20"},
    {"Begin 500 calls a second, and fail if they are slow.",
     "coracle load localhost:50051 -p AddMovie -d '{\"title\": \"x\"}' --rate 500 --duration 5s --expect "
     "'p99<200ms'"},
    {"Measure the Connect protocol over HTTP/1.1.",
     "coracle load localhost:50051 -p AddMovie -d '{\"title\": \"x\"}' --protocol connect -n 1000"},
    {"Write a page with charts.",
     "coracle load localhost:50051 -p AddMovie -d '{\"title\": \"x\"}' -n 1000 --report load.html"},
};
constexpr example load_compare[] = {
    {"Fail if the newer run is slower.", "coracle load compare before.json after.json --fail-if 'p99>+10%'"},
};
constexpr example health[] = {
    {"Ask whether a server serves, as a probe of a container does.", "coracle health localhost:50051 -p"},
    {"Ask about one service.", "coracle health localhost:50051 -p movie.MovieService"},
};
constexpr example doctor_examples[] = {
    {"Look for what restricts programs on this machine.", "coracle doctor"},
    {"Find out why clients cannot use a server.", "coracle doctor localhost:50051 -p"},
};
constexpr example top[] = {
    {"Watch a server that has with_pages().", "coracle top localhost:50051 -p"},
    {"Print one table, for a script.", "coracle top localhost:50051 -p --once"},
};
constexpr example pages_examples[] = {
    {"Print the address of a server's pages.", "coracle pages localhost:50051 -p"},
};
constexpr example mesh[] = {
    {"Print what control planes have configured in a program.", "coracle xds localhost:50051 -p"},
    {"Print it as JSON, for a script.", "coracle xds localhost:50051 -p --json"},
};
constexpr example proxy[] = {
    {"Print the calls between a client and a server.",
     "coracle proxy localhost:50051 -p --listen localhost:50052"},
    {"Record them.", "coracle proxy localhost:50051 -p --listen localhost:50052 --record calls.jsonl"},
};
constexpr example chaos_examples[] = {
    {"Delay all bytes, and lose each connection after half a minute or so.",
     "coracle chaos localhost:50051 --listen localhost:50052 --fault 'delay 20ms..200ms' --fault 'close "
     "30s'"},
    {"See whether clients refuse the certificate of an impostor.",
     "coracle chaos localhost:50051 --listen localhost:50052 --fault 'certificate 100%'"},
};
constexpr example replay[] = {
    {"Make recorded calls again, and compare their results.",
     "coracle replay localhost:50051 -p calls.jsonl"},
};
constexpr example openapi[] = {
    {"Describe the service of a .proto file for an OpenAPI generator.",
     "coracle openapi --proto movie.proto -o openapi.json"},
    {"Describe the services of a running server in YAML.",
     "coracle openapi localhost:50051 -p --format yaml --title Movies"},
};
constexpr example binlog[] = {
    {"Print the calls that a program has logged.", "coracle binlog movies.binlog"},
    {"Print one of them as JSON, with its messages.", "coracle binlog movies.binlog --call 17 --format json"},
};
constexpr example frames[] = {
    {"Print what a program has recorded.", "coracle frames movies.rec"},
    {"Write the frames of a connection for Wireshark.",
     "coracle frames movies.rec --connection 3 --pcapng movies.pcapng"},
};
constexpr example diff[] = {
    {"Find what a change of a .proto file breaks.", "coracle diff old/movie.proto new/movie.proto"},
    {"Compare a descriptor set with a running server, only what breaks on the wire.",
     "coracle diff movie.protoset localhost:50051 -p --against wire"},
};
constexpr example certs[] = {
    {"Make a CA, and certificates of a server and a client.", "coracle certs localhost 127.0.0.1"},
    {"Make certificates of another server, with the same CA.", "coracle certs api.example.org --name api"},
};
constexpr example make_project[] = {
    {"Make a project, build it and run its test.",
     "coracle new movies && cd movies && cmake --preset release && cmake --build build --parallel && ctest "
     "--preset release"},
};
constexpr example completion[] = {
    {"Complete commands, options and methods in bash.", "source <(coracle completion bash)"},
};

constexpr std::pair<std::string_view, std::span<const example>> by_command[] = {
    {"", overview},
    {"ls", ls},
    {"describe", describe},
    {"call", call},
    {"test", test},
    {"repl", repl},
    {"console", console},
    {"load", load},
    {"load compare", load_compare},
    {"health", health},
    {"doctor", doctor_examples},
    {"top", top},
    {"pages", pages_examples},
    {"xds", mesh},
    {"proxy", proxy},
    {"replay", replay},
    {"chaos", chaos_examples},
    {"openapi", openapi},
    {"diff", diff},
    {"binlog", binlog},
    {"frames", frames},
    {"certs", certs},
    {"new", make_project},
    {"completion", completion},
};

}  // namespace

std::span<const example> examples_of(std::string_view command) {
  for (const auto& [name, examples] : by_command)
    if (name == command) return examples;
  return {};
}

}  // namespace coracle::tools
