// pages: coracle pages says where the pages of a server are, if it has them.
#include "tools/commands.hpp"
#include "tools/pages/page_reader.hpp"
#include "tools/standard_output.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace coracle::tools {

void add_pages(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("pages", "Print the address of the pages that with_pages() adds to a server");
  const auto at = std::make_shared<pages::page_address>();
  at->add_to(*command);
  command->callback([at, &chosen] {
    chosen = [at] {
      static_cast<void>(pages::page_reader(*at).read("version"));
      print(at->url() + "/\n");
      return 0;
    };
  });
}

}  // namespace coracle::tools
