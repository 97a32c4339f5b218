// The programs of cases are linked as one, since most of what is compiled for each are the headers of the
// library. It is run by links: NAME_LIBRARY runs the program NAME.
#include "program_cases.hpp"

#include <iostream>
#include <string>

int main(int count, char** words) {
  std::string name = words[0];
  name.erase(0, name.rfind('/') + 1);
  name.erase(name.rfind('_'));
  const auto found = call_kinds::program::all().find(name);
  if (found != call_kinds::program::all().end()) return found->second->run(count, words);
  std::cerr << "there is no program " << name << "; there are:";
  for (const auto& [other, program] : call_kinds::program::all()) std::cerr << " " << other;
  std::cerr << "\n";
  return 2;
}
