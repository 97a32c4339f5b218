// certs_command: coracle certs makes a CA, a server's certificate and a client's with one command.
#include "tools/certs/certificate.hpp"
#include "tools/certs/host_names.hpp"
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/files/new_files.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

namespace {

namespace fs = std::filesystem;

struct cert_request {
  std::vector<std::string> hosts;
  std::string folder = "certs";
  std::string server = "server";
  std::string client = "client";
  bool client_was_named = false;
  bool force = false;
  int days = 825;  // the maximum that Apple's platforms accept from a private CA
};

// The files name.pem and name.key in a folder.
struct file_pair {
  file_pair(const fs::path& folder, const std::string& name)
      : certificate(folder / (name + ".pem")), key(folder / (name + ".key")) {}
  [[nodiscard]] std::vector<fs::path> taken() const {
    std::vector<fs::path> found;
    for (const auto& path : {certificate, key})
      if (is_taken(path)) found.push_back(path);
    return found;
  }
  fs::path certificate;
  fs::path key;
};

// Which of the three pairs a run makes.
struct plan {
  explicit plan(const cert_request& w)
      : authority(w.folder, "ca"), server(w.folder, w.server), client(w.folder, "client") {}
  file_pair authority;
  file_pair server;
  file_pair client;
  bool makes_authority = true;
  bool makes_client = true;
};

// Returns "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == words.size() ? " and " : ", ").append(words[i]);
  return text;
}

void check(const cert_request& w) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (w.server.empty() || w.server.front() == '.' || !std::all_of(w.server.begin(), w.server.end(), fits))
    throw usage_failure(
        "--name is the file name without .pem and .key, made of letters, digits, '-', '_' and '.': not "
        "'" +
        w.server + "'");
  if (w.server == "ca" || w.server == "client")
    throw usage_failure("--name " + w.server + " is taken by the " + (w.server == "ca" ? "CA" : "client") +
                        "; choose another name for the server's files");
  // RFC 5280 A.1: ub-common-name. OpenSSL counts characters and this check counts bytes, which is stricter.
  const bool control = std::any_of(w.client.begin(), w.client.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (w.client.empty() || w.client.size() > 64 || control)
    throw usage_failure("--client is the client's common name: 1 to 64 bytes without control characters");
}

// Checks for existing files before anything is made, so that one error message can name all of them.
plan planned(const cert_request& w) {
  plan p(w);
  const auto authority = p.authority.taken();
  if (authority.size() == 1) {
    const bool has_key = authority.front() == p.authority.key;
    throw failure(authority.front().string() + " exists without " +
                  (has_key ? p.authority.certificate : p.authority.key).string() +
                  ": restore that file, or choose another directory with --out");
  }
  p.makes_authority = authority.empty();
  auto taken = p.server.taken();
  const auto client = p.client.taken();
  // A CA signs for many servers; a client that has a certificate of this CA needs no second one.
  p.makes_client = p.makes_authority || client.size() < 2 || w.client_was_named || w.force;
  if (p.makes_client) taken.insert(taken.end(), client.begin(), client.end());
  if (taken.empty() || w.force) return p;

  std::vector<std::string> names;
  for (const auto& path : taken) names.push_back(path.string());
  std::string fix = ": replace the files that you no longer need with --force";
  if (!p.server.taken().empty() && !p.makes_authority)
    fix += ", give this server's files another name with --name";
  if (!client.empty() && p.makes_client && w.client_was_named)
    fix += ", copy ca.pem and ca.key to a separate directory for the new client";
  throw failure(listed(names) + (names.size() == 1 ? " exists" : " exist") + fix +
                ", or choose another directory with --out");
}

// The files of a run with their descriptions.
class output {
 public:
  void add(const file_pair& files, const credential& c, std::string description,
           const char* key_description) {
    entries_.push_back(
        {files.certificate, c.certificate_pem(), new_files::readable::by_all, std::move(description)});
    entries_.push_back({files.key, c.key_pem(), new_files::readable::by_owner, key_description});
  }
  void write(const fs::path& folder, bool replace) const {
    new_files files(replace);
    files.folder(folder);
    for (const auto& e : entries_) files.write(e.path, e.content, e.readable_by);
    files.keep();
  }
  void print_list() const {
    std::size_t width = 0;
    for (const auto& e : entries_) width = std::max(width, e.path.string().size());
    for (const auto& e : entries_)
      std::fprintf(stderr, "%-*s  %s\n", static_cast<int>(width), e.path.c_str(), e.description.c_str());
  }

 private:
  struct entry {
    fs::path path;
    std::string content;
    new_files::readable readable_by;
    std::string description;
  };
  std::vector<entry> entries_;
};

int make(const cert_request& w) {
  check(w);
  const std::string alternative_names = subject_alternative_names(w.hosts);
  const plan p = planned(w);
  const credential authority =
      p.makes_authority ? new_authority() : read_authority(p.authority.certificate, p.authority.key);

  output made;
  if (p.makes_authority)
    made.add(p.authority, authority,
             "the CA: clients trust it, and servers that ask clients for certificates; until " +
                 authority.last_day(),
             "the CA's private key: signs more certificates, keep it to yourself");
  // A name that is too long for a subject is still one of the alternative names, which are what clients
  // check.
  const std::string common_name = w.hosts.front().size() <= 64 ? w.hosts.front() : "server";
  const auto server = issue(authority, purpose::server, common_name, alternative_names, w.days);
  made.add(p.server, server,
           "the server's certificate, for " + listed(w.hosts) + ", until " + server.last_day(),
           "the server's private key");
  if (p.makes_client) {
    const auto client = issue(authority, purpose::client, w.client, "", w.days);
    made.add(p.client, client, "a client's certificate, for " + w.client + ", until " + client.last_day(),
             "the client's private key");
  }
  made.write(w.folder, w.force);
  made.print_list();
  if (!p.makes_authority)
    std::fprintf(stderr, "%s existed and signed %s\n", p.authority.certificate.c_str(),
                 p.makes_client ? "both" : "it");
  return 0;
}

}  // namespace

void add_certs(CLI::App& app, action& chosen) {
  const auto w = std::make_shared<cert_request>();
  CLI::App* command = app.add_subcommand("certs", "Create a CA, and certificates for a server and a client");
  command->add_option("HOST", w->hosts, "DNS names and IP addresses of the server: localhost 127.0.0.1 ::1")
      ->required()
      ->type_name("");
  command
      ->add_option("--out", w->folder,
                   "The folder for the files; a ca.pem and ca.key in it are used again; default: certs")
      ->type_name("DIR");
  command->add_option("--name", w->server, "Name the server's files NAME.pem and NAME.key; default: server")
      ->type_name("NAME");
  const CLI::Option* client =
      command->add_option("--client", w->client, "The client's common name; default: client")
          ->type_name("NAME");
  command
      ->add_option("--days", w->days,
                   "The days for which both are valid; the CA is valid for ten years; default: 825")
      ->type_name("N")
      ->check(CLI::Range(1, 3650));
  command->add_flag("--force", w->force,
                    "Replace the files of the server and the client that exist; a CA is never replaced");
  command->footer("Writes ca, server and client, each as .pem and .key (PEM, PKCS#8, P-256).");
  command->callback([w, client, &chosen] {
    w->client_was_named = client->count() > 0;
    chosen = [w] { return make(*w); };
  });
}

}  // namespace coracle::tools
